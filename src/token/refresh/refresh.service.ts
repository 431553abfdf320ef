import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { AuditRefusals } from '../../audit/audit-refusals.js';
import { EndEvents, type EndEvent } from '../../audit/end-events.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { DatabaseBusy } from '../../platform/database/limits.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type SessionIds } from '../../platform/events.js';
import { ClaimsStore } from '../../user/claims.store.js';
import type { Delegation } from '../access-tokens/access-token.js';
import { TokenInspector } from '../access-tokens/token-inspector.js';
import { DpopProofs, type DpopCall } from '../dpop/dpop-proofs.js';
import type { Session } from '../sessions/session.entity.js';
import { DELEGATED, parseRefreshToken } from './refresh-token.js';
import { toSessionEnds, type RefreshedToken, type SessionEnds } from './refresh.dto.js';
import { RefreshStore, type Refresh, type RefreshedAccessToken } from './refresh.store.js';

/** Attempts to store a token, while the claims of its user change. */
const TRIES = 5;
/** Seconds. */
export const MOST_IDLE = 2_147_483_647;

/** A session that its idle time has ended: the caller signs it out. */
export class IdleEnd extends OAuthError {
  constructor(readonly session: SessionIds) {
    super('invalid_grant', 'the session has ended, since it was not used', { reason: 'idle' });
  }
}

export interface RefreshParameters {
  readonly refresh_token: string;
  /** As it came. */
  readonly idle_for?: unknown;
}

/** A session that a user has delegated to a program, as a feature knows it. @public */
export interface Delegated {
  readonly delegation: Delegation;
  /** End of the session: seconds since the epoch. */
  readonly latest: number;
}

/**
 * Finds what the session of a program's refresh token may do. The token is checked after it.
 * @throws OAuthError
 */
export type FindDelegation = (session: SessionIds) => Promise<Delegated>;

/** @throws OAuthError `invalid_request` */
function parseIdleFor(value: unknown): number {
  if (value === undefined || value === null || value === '') return 0;
  const seconds = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  if (Number.isInteger(seconds) && (seconds as number) >= 0 && (seconds as number) <= MOST_IDLE) {
    return seconds as number;
  }
  throw new OAuthError('invalid_request', `idle_for must be whole seconds from 0 to ${MOST_IDLE}`);
}

@Injectable()
export class RefreshService {
  constructor(
    private readonly store: RefreshStore,
    private readonly claims: ClaimsStore,
    private readonly proofs: DpopProofs,
    private readonly inspector: TokenInspector,
    private readonly audit: AuditRefusals,
    private readonly events: Events,
    private readonly ends: EndEvents,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'sessionIdleTtl'>,
  ) {}

  /**
   * Issues an access token for the session of a refresh token (spec §4.4), which stays as it is (spec §2.2).
   * @param call is used if the session is bound to a key
   * @param originOf is called for a refusal only
   * @param params `idle_for` counts if `SESSION_IDLE_TTL` is set
   * @param findDelegation of a program's token; without it, only tokens of the application are known
   * @throws OAuthError `invalid_grant` if the token is unknown or has expired (IdleEnd if the session has),
   *   `invalid_dpop_proof` if only the proof is invalid; DatabaseBusy if the claims of the user change each
   *   time
   */
  async refresh(
    { refresh_token: refreshToken, idle_for: reported }: RefreshParameters,
    call: DpopCall,
    originOf: () => Origin,
    findDelegation?: FindDelegation,
  ): Promise<RefreshedToken> {
    const idleFor = this.settings.sessionIdleTtl === undefined ? 0 : parseIdleFor(reported);
    const parsed = parseRefreshToken(refreshToken, findDelegation && DELEGATED);
    try {
      if (!parsed) throw new UnknownToken();
      const { session, authentication, bound } = parsed;
      const proof = bound ? await this.proofs.validate(call) : undefined;
      const delegated = await findDelegation?.(session);
      const refresh = { refreshToken, session, authentication, proof, idleFor, ...delegated };
      const { token, expiresIn, endsAt } = await this.issue(refresh);
      // After the token, which proves the session: of a forged one, nothing is looked up.
      this.events.emit('session.used', session);
      const ends = endsAt === undefined ? {} : this.toEnds(endsAt, delegated ? null : idleFor);
      return { access_token: token, token_type: 'Bearer', expires_in: expiresIn, ...ends };
    } catch (error) {
      if (error instanceof OAuthError) this.recordRefusal(error, originOf(), refreshToken, parsed?.session);
      throw error;
    }
  }

  /**
   * Stores a token with the current claims: if they have changed since this instance read them, it signs
   * again.
   */
  private async issue(refresh: Omit<Refresh, 'claims'>): Promise<RefreshedAccessToken> {
    const { session } = refresh;
    let { latest } = refresh;
    for (let left = TRIES; left > 0; left--) {
      const claims = this.claims.known(session.userId);
      const result = await this.store.issue({ ...refresh, claims, latest });
      if (!('refusal' in result)) return result;
      if (result.refusal === 'session') throw new UnknownToken();
      if (result.refusal === 'proof') throw unusableProof();
      if (result.refusal === 'idle') throw new IdleEnd(session);
      if (result.refusal === 'end') latest = result.endsAt;
      else await this.claims.find(session.userId);
    }
    throw new DatabaseBusy('the claims of the user change too often');
  }

  /** @param idleFor null: the session has no idle end */
  private toEnds(endsAt: number, idleFor: number | null): SessionEnds {
    const { sessionIdleTtl } = this.settings;
    const idle = sessionIdleTtl === undefined || idleFor === null ? null : sessionIdleTtl - idleFor;
    return toSessionEnds(endsAt - this.clock.now() / 1000, idle);
  }

  /** The event has the ids in the token if the token is ours; it says then how its session has ended. */
  private recordRefusal(refusal: OAuthError, origin: Origin, token: string, claimed?: SessionIds): void {
    const { error, reason } = refusal;
    const prove = async () => {
      const session = await this.inspector.findSession(token, claimed!);
      return session && { reason: refusal instanceof UnknownToken ? await this.describe(session) : reason };
    };
    const event = 'refresh_refused';
    this.audit.refused({ event, error, reason, origin, claimed, prove: claimed && prove });
  }

  /** Says how a session has ended (docs/audit.md#refused-refreshes); undefined if it has not. */
  private async describe(session: Session): Promise<string | undefined> {
    const { userId, sessionId, signedOutAt, expiresAt, endsBecause } = session;
    if (signedOutAt) {
      return describeEnd(await this.ends.find(userId, sessionId, signedOutAt), signedOutAt, endsBecause);
    }
    if (expiresAt.getTime() > Date.now()) return undefined;
    return `expired at ${expiresAt.toISOString()}${suffix(endsBecause)}`;
  }
}

const ACTORS: Readonly<Record<string, string>> = { service_key: 'service key' };

function describeEnd(event: EndEvent | undefined, at: Date, endsBecause: string | null): string {
  const time = at.toISOString();
  if (!event) return `ended at ${time}${suffix(endsBecause)}`;
  const { reason, actor_type: type, actor_name: name } = event;
  if (event.event === 'session_lost') return `lost at ${time}${suffix(reason)}`;
  if (reason?.startsWith('by ')) return `ended ${reason} at ${time}`;
  const actor = `${ACTORS[type] ?? type}${name === null ? '' : ` ${name}`}`;
  return `ended by ${type === 'user' && name === null ? 'the user' : actor} at ${time}${suffix(reason)}`;
}

function suffix(reason: string | null): string {
  return reason === null ? '' : `: ${reason}`;
}

class UnknownToken extends OAuthError {
  constructor() {
    super('invalid_grant', 'refresh token is unknown or has expired');
  }
}

function unusableProof(): OAuthError {
  return new OAuthError(
    'invalid_dpop_proof',
    'the session needs a new DPoP proof of its own key: there was none, or another, or it was used before',
  );
}
