import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Origin } from '../../audit/audit-event.js';
import { decorated } from '../../platform/decorated.js';
import { Clock } from '../../platform/database/clock.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Identity, IdentityFacts } from '../../provider/identity/identity.js';
import type { DeviceDto } from '../token.dto.js';
import type { SignIn } from '../sign-in/sign-in-columns.js';
import { SignInRefusals } from '../sign-in/sign-in-refusals.js';

/** A user as the provider has verified them. */
export interface Verified {
  readonly provider: string;
  readonly identity: Identity;
  /** Before the request to the provider: milliseconds, by the database's clock. */
  readonly requestedAt: number;
  /**
   * Begin of an earlier sign-in, on which this one rests: milliseconds, likewise. Absent: it rests on none.
   */
  readonly begunAt?: number;
  /**
   * Hashes of the session on which it rests: the provider ends the new session by them. The feature looks
   * whether that session goes on.
   */
  readonly restsOn?: Pick<SignIn, 'providerSubject' | 'providerSession'>;
  /**
   * The identity that was verified, if the user has joined it to their own, which `provider` and `identity`
   * are. The provider ends the session by its names.
   */
  readonly joined?: Pick<Candidate, 'provider' | 'identity'>;
}

/** A verified user who wants to sign in. */
export interface Candidate {
  readonly provider: string;
  readonly identity: Identity;
  readonly userId: string;
  readonly origin: Origin;
  /** Absent in the flow of stock clients, which name the device later. */
  readonly device?: DeviceDto;
}

/**
 * What a step changes of the identity, for the steps after it and for the session. `facts` are added to those
 * of the steps before.
 */
export type IdentityChanges = Partial<
  Pick<Identity, 'claims' | 'overlay' | 'sessionExpiry' | 'proof' | 'facts'>
>;

/** A user whom the provider was asked about again. */
export type Checked = Pick<Candidate, 'provider' | 'identity' | 'userId'>;

/** A recorded sign-in before its answer is sent. */
export interface SignedIn extends Pick<Verified, 'joined' | 'requestedAt'> {
  readonly provider: string;
  readonly identity: Identity;
  readonly session: SessionIds;
  readonly origin: Origin;
}

/** In this order: `facts` find what is known of the user, `rules` read it, `ask` asks another service. */
const CHECKS = ['facts', 'rules', 'ask'] as const;
/** In this order: `keep` stores what the others read, `judge` looks again, `limit` ends other sessions. */
const FOLLOWERS = ['keep', 'judge', 'limit'] as const;

interface Stages {
  /** When `check` and `checkAgain` run. */
  readonly check?: (typeof CHECKS)[number];
  /** When `after` runs. */
  readonly after?: (typeof FOLLOWERS)[number];
}

type Changes = IdentityChanges | void;

/**
 * A feature's part of each sign-in: a provider with the decorator of the same name. In one stage, steps run
 * in the order of the names of their classes.
 */
export interface SignInStep {
  /**
   * Before anything is written.
   * @throws OAuthError `access_denied` if the candidate may not sign in
   */
  check?(candidate: Candidate): Promise<Changes> | Changes;
  /**
   * When the provider was asked again during a session; ends no session itself.
   * @throws OAuthError `access_denied` if the sessions of the user must end
   */
  checkAgain?(checked: Checked): Promise<Changes> | Changes;
  /**
   * The verified identity is joined to that of another user.
   * @param userId of that user
   * @param facts what the sign-in is for
   * @returns that user's own identity, which is checked next; undefined: of another feature
   * @throws OAuthError if the user may not sign in by this identity
   */
  joined?(verified: Verified, userId: string, facts: IdentityFacts): Promise<Verified | undefined>;
  /** Before the tokens of a recorded sign-in are sent; its error is the answer instead. */
  after?(signedIn: SignedIn): Promise<void>;
}

export const SignInStep = DiscoveryService.createDecorator<Stages>();

/** Runs the steps of all features. */
@Injectable()
export class SignInSteps implements OnModuleInit {
  private all: readonly SignInStep[] = [];
  private checks: readonly SignInStep[] = [];
  private facts: readonly SignInStep[] = [];
  private followers: readonly SignInStep[] = [];

  constructor(
    private readonly refusals: SignInRefusals,
    private readonly clock: Clock,
    private readonly discovery: DiscoveryService,
  ) {}

  onModuleInit(): void {
    const steps = decorated<Stages, SignInStep>(this.discovery, SignInStep);
    for (const { said, instance } of steps) {
      const isChecked = 'check' in instance || 'checkAgain' in instance;
      const isComplete = isChecked === 'check' in said && 'after' in instance === 'after' in said;
      if (isComplete) continue;
      throw new Error(`${instance.constructor.name}: each method of a SignInStep needs its stage`);
    }
    this.all = steps.map(({ instance }) => instance);
    const of = (key: 'check' | 'after', stage: string): SignInStep[] =>
      steps.filter(({ said }) => said[key] === stage).map(({ instance }) => instance);
    this.checks = CHECKS.flatMap((stage) => of('check', stage));
    this.facts = of('check', 'facts');
    this.followers = FOLLOWERS.flatMap((stage) => of('after', stage));
  }

  /**
   * @returns the identity as the steps have changed it
   * @throws what a step throws; it is recorded
   */
  async check(verified: Verified, origin: Origin, device?: DeviceDto): Promise<Verified> {
    const { provider, identity, joined: proven = verified } = verified;
    if (this.checks.length === 0 && identity.sessionExpiry === null) return verified;
    const userId = deriveUserId(provider, identity.providerUserId);
    const deviceId = device?.device_id?.toLowerCase() ?? null;
    const { providerUserId } = proven.identity;
    const known = { origin, provider: proven.provider, providerUserId, userId, deviceId };
    return this.refusals.watch(known, async () => {
      checkExpiry(identity, this.clock.now());
      let candidate: Candidate = { provider, identity, userId, origin, ...(device && { device }) };
      for (const step of this.checks) {
        const changes = await step.check?.(candidate);
        candidate = { ...candidate, identity: changed(candidate.identity, changes) };
      }
      return { ...verified, identity: candidate.identity };
    });
  }

  /**
   * @returns the identity as the steps have changed it
   * @throws OAuthError `access_denied` if the sessions of the user must end
   */
  checkAgain(checked: Checked): Promise<Identity> {
    return checkedAgainBy(this.checks, checked);
  }

  /**
   * Runs the stage `facts` alone, for a test sign-in.
   * @returns the identity as the other steps would read it
   * @throws OAuthError `access_denied` if the user may not sign in
   */
  preview(checked: Checked): Promise<Identity> {
    return checkedAgainBy(this.facts, checked);
  }

  /**
   * Finds the user who has joined the verified identity, and checks them as `check` does.
   * @throws OAuthError `access_denied`
   */
  async checkJoined(
    verified: Verified,
    userId: string,
    { origin, facts = {} }: { readonly origin: Origin; readonly facts?: IdentityFacts | undefined },
    device: DeviceDto,
  ): Promise<Verified> {
    const { provider, identity } = verified;
    const deviceId = device.device_id?.toLowerCase() ?? null;
    const known = { origin, provider, providerUserId: identity.providerUserId, userId, deviceId };
    const other = await this.refusals.watch(known, async () => {
      for (const step of this.all) {
        const found = await step.joined?.(verified, userId, facts);
        if (found) return found;
      }
      throw new OAuthError('access_denied', 'this account may not sign in', { reason: 'not joined' });
    });
    return this.check(other, origin, device);
  }

  async after(signedIn: SignedIn): Promise<void> {
    for (const step of this.followers) await step.after?.(signedIn);
  }
}

async function checkedAgainBy(steps: readonly SignInStep[], checked: Checked): Promise<Identity> {
  let { identity } = checked;
  for (const step of steps) identity = changed(identity, await step.checkAgain?.({ ...checked, identity }));
  return identity;
}

function changed(identity: Identity, changes: Changes): Identity {
  return changes ? { ...identity, ...changes, facts: { ...identity.facts, ...changes.facts } } : identity;
}

/**
 * @param now milliseconds since the epoch
 * @throws OAuthError `access_denied` if the provider's session has ended
 *   (docs/guides/session-length.md#the-providers-session)
 */
export function checkExpiry({ sessionExpiry }: Identity, now: number): void {
  if (sessionExpiry === null || sessionExpiry * 1000 > now) return;
  const reason = 'session_expiry';
  throw new OAuthError('access_denied', 'the session at the identity provider has ended', { reason });
}
