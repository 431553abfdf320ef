import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { Clock } from '../../platform/database/clock.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { DeviceDto } from '../token.dto.js';
import { SignInRefusals } from './sign-in-refusals.js';

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

/** What a check changes of the identity, for the checks after it and for the session. */
export type IdentityChanges = Partial<
  Pick<Identity, 'claims' | 'admissionClaims' | 'sessionExpiry' | 'proof'>
>;

/** @throws OAuthError `access_denied` if the candidate may not sign in */
export type SignInCheck = (candidate: Candidate) => CheckResult | Promise<CheckResult>;
/** A user whom the provider was asked about again. */
export type Checked = Pick<Candidate, 'provider' | 'identity' | 'userId'>;
/** As SignInCheck; it ends no session itself. */
export type Recheck = (checked: Checked) => CheckResult | Promise<CheckResult>;

type CheckResult = IdentityChanges | void;

/** A recorded sign-in whose answer has not been sent. */
export interface SignedIn {
  readonly provider: string;
  readonly identity: Identity;
  readonly session: SessionIds;
  readonly origin: Origin;
}

/** Steps of other modules (policy/, admission/) before anything of a sign-in is written, and after it. */
@Injectable()
export class SignInChecks {
  private readonly checks: SignInCheck[] = [];
  private readonly rechecks: Recheck[] = [];
  private readonly firsts: Recheck[] = [];
  private readonly followers: ((signedIn: SignedIn) => Promise<void>)[] = [];

  constructor(
    private readonly refusals: SignInRefusals,
    private readonly clock: Clock,
  ) {}

  /** Checks run in the order in which they were added. */
  add(check: SignInCheck): void {
    this.checks.push(check);
  }

  /**
   * @param check runs before all others, which read what it changes; also when the provider was asked again
   */
  addFirst(check: Recheck): void {
    this.checks.unshift(check);
    this.firsts.unshift(check);
    this.rechecks.unshift(check);
  }

  /** @param check runs when the provider was asked again (recheck/), in the order of the additions */
  addRecheck(check: Recheck): void {
    this.rechecks.push(check);
  }

  /** @param follow runs before the tokens of a recorded sign-in are sent; its error is the answer instead */
  addFollower(follow: (signedIn: SignedIn) => Promise<void>): void {
    this.followers.push(follow);
  }

  /** @param follow as for `addFollower`, before all others, which read what it writes */
  addFirstFollower(follow: (signedIn: SignedIn) => Promise<void>): void {
    this.followers.unshift(follow);
  }

  /**
   * @returns the identity as the checks have changed it
   * @throws what a check throws; it is recorded
   */
  async run(verified: Verified, origin: Origin, device?: DeviceDto): Promise<Verified> {
    const { provider, identity } = verified;
    const { providerUserId } = identity;
    if (this.checks.length === 0 && identity.sessionExpiry === null) return verified;
    const userId = deriveUserId(provider, providerUserId);
    const deviceId = device?.device_id?.toLowerCase() ?? null;
    const known = { origin, provider, providerUserId, userId, deviceId };
    return this.refusals.watch(known, async () => {
      checkExpiry(identity, this.clock.now());
      let candidate: Candidate = { provider, identity, userId, origin, ...(device && { device }) };
      for (const check of this.checks) {
        const changes = await check(candidate);
        if (changes) candidate = { ...candidate, identity: { ...candidate.identity, ...changes } };
      }
      return { ...verified, identity: candidate.identity };
    });
  }

  /**
   * @returns the identity as the checks have changed it
   * @throws OAuthError `access_denied` if the sessions of the user must end
   */
  async rerun(checked: Checked): Promise<Identity> {
    let { identity } = checked;
    for (const check of this.rechecks) {
      identity = { ...identity, ...(await check({ ...checked, identity })) };
    }
    return identity;
  }

  /**
   * Runs those of `addFirst` alone, for a test sign-in.
   * @returns the identity as the other checks would read it
   * @throws OAuthError `access_denied` if the user may not sign in
   */
  async preview(checked: Checked): Promise<Identity> {
    let { identity } = checked;
    for (const check of this.firsts) identity = { ...identity, ...(await check({ ...checked, identity })) };
    return identity;
  }

  async follow(signedIn: SignedIn): Promise<void> {
    for (const follow of this.followers) await follow(signedIn);
  }
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
