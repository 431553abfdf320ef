import { Inject, Injectable } from '@nestjs/common';
import type { UserClaims } from '../../identity/claims.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { plainArray, type PlainElement } from '../../platform/database/batching.js';
import { Clock } from '../../platform/database/clock.js';
import { OneAtATime } from '../../platform/database/limits.js';
import { Sql } from '../../platform/database/sql.js';
import { Declared } from '../../platform/declared.js';
import type { SessionIds } from '../../platform/events.js';
import { AccessTokens, type Delegation, type IssuedAccessToken } from '../access-tokens/access-token.js';
import type { DpopProof } from '../dpop/dpop-proofs.js';
import { hashRefreshToken, type Authentication } from './refresh-token.js';
import { mayEndEarly } from './refresh.dto.js';
import { MOVE_IDLE_END, MOVE_IDLE_ENDS, REFRESH } from './refresh.sql.js';

export interface Refresh {
  readonly refreshToken: string;
  /** Session that the token claims to belong to. */
  readonly session: SessionIds;
  readonly authentication?: Authentication | undefined;
  /** DPoP proof of the session's key, if any. */
  readonly proof: DpopProof | undefined;
  /** Claims of the user, as this instance knows them. */
  readonly claims: UserClaims;
  /** Seconds since the last use, as the client reports. */
  readonly idleFor: number;
  /** End of the session, in seconds since the epoch, if an attempt was refused by it. */
  readonly latest?: number | undefined;
  /** Of a session that the user has delegated to a program: it has no idle end. */
  readonly delegation?: Delegation | undefined;
}

export interface RefreshedAccessToken extends IssuedAccessToken {
  /** End of the session, in seconds since the epoch, if it may come before `REFRESH_TOKEN_TTL`. */
  readonly endsAt?: number;
}

/**
 * Why no token was stored:
 * - `session`: no live session has this refresh token
 * - `proof`: the session needs a proof of its own key that was not used before
 * - `idle`: the session has ended since it was not used, or ends with this report of the last use
 * - `end`: the token would outlive the session
 * - `claims`: they have changed
 */
export type Refused =
  | { readonly refusal: 'session' | 'proof' | 'idle' | 'claims' }
  | { readonly refusal: 'end'; readonly endsAt: number };

/** Result of REFRESH; `token`: the session has another refresh token, or is bound to another key. */
export interface RefreshRow {
  /** Counts from 1. */
  readonly place: number;
  readonly refusal: Refused['refusal'] | 'token' | null;
  /** The other members are of the session; times are seconds since the epoch. */
  readonly tokenHash: Buffer | null;
  readonly jkt: Buffer | null;
  readonly endsAt: number | null;
  readonly idleEndsAt: number | null;
}

/** A refresh with its token, before that is stored. */
export interface SignedRefresh extends Refresh {
  readonly issued: IssuedAccessToken;
  /** Seconds since the epoch; null: `SESSION_IDLE_TTL` is not set. */
  readonly idleEndsAt: number | null;
}

interface Result {
  readonly signed: SignedRefresh;
  /** Undefined if the token is stored, and nothing else is to be done. */
  readonly row: Omit<RefreshRow, 'place'> | undefined;
}

/** Seconds by which an idle end must differ to be written. */
const LEAST_MOVE = 5;
const USED_PROOF = { refusal: 'proof', tokenHash: null, jkt: null, endsAt: null, idleEndsAt: null } as const;

/** Stores access tokens for refresh tokens. */
@Injectable()
export class RefreshStore {
  /** Whether any session may end before `REFRESH_TOKEN_TTL`; else one may whose provider has named an end. */
  protected readonly mayEndEarly: boolean;
  private readonly issueBatched: (refresh: Refresh) => Promise<Result>;
  private readonly moveBatched: (signed: SignedRefresh) => Promise<boolean>;
  private readonly queue = new OneAtATime('too many refreshes of one user');

  constructor(
    protected readonly sql: Sql,
    private readonly accessTokens: AccessTokens,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'sessionIdleTtl'>,
    declared: Declared,
  ) {
    this.mayEndEarly = mayEndEarly(settings, declared);
    this.issueBatched = sql.batched('refresh', (refreshes: Refresh[]) => this.issueEach(refreshes));
    this.moveBatched = sql.batched('move-idle-ends', async (all: SignedRefresh[]) => {
      const moved = await this.move(all);
      return all.map(({ session }) => moved.has(session.sessionId));
    });
  }

  /**
   * Signs and stores an access token for the session of a refresh token, and moves the idle end of the
   * session (docs/guides/session-length.md#idle). Concurrent refreshes are batched into one statement, and
   * signed when it is sent.
   */
  async issue(refresh: Refresh): Promise<RefreshedAccessToken | Refused> {
    const began = performance.now();
    const { signed, row } = await this.issueBatched(refresh);
    if (!row) return signed.issued;
    const refusal = findRefusal(row, refresh);
    if (refusal === 'end') return { refusal, endsAt: row.endsAt! };
    if (refusal !== null) return { refusal };
    if (isMoved(row.idleEndsAt, signed.idleEndsAt)) await this.moveIdleEnd(signed, began);
    return row.endsAt === null ? signed.issued : { ...signed.issued, endsAt: row.endsAt };
  }

  /** @returns rows of the refreshes that need more than their token */
  protected store(all: readonly SignedRefresh[]): Promise<RefreshRow[]> {
    const rows = all.map(toParameters);
    // No element needs escaping: ids made from bytes, hashes, numbers, base64url.
    const columns = rows[0]!.map((_, column) => toArray(rows.map((row) => row[column]!)));
    return this.sql.query<RefreshRow>(REFRESH, [...columns, this.mayEndEarly]);
  }

  /** Moves the idle ends of sessions that are not locked. @returns their ids */
  protected async move(all: readonly SignedRefresh[]): Promise<Set<string>> {
    const rows = await this.sql.query<{ readonly sessionId: string }>(MOVE_IDLE_ENDS, [
      plainArray(all.map(({ session }) => session.userId)),
      plainArray(all.map(({ session }) => session.sessionId)),
      plainArray(all.map(({ idleEndsAt }) => idleEndsAt)),
    ]);
    return new Set(rows.map(({ sessionId }) => sessionId));
  }

  private async issueEach(refreshes: readonly Refresh[]): Promise<Result[]> {
    const all = refreshes.map((refresh) => this.sign(refresh));
    // One for each proof: the statement would not report which of several it stored.
    const sent = [...new Map(all.map(({ issued }, i) => [issued.jti, i])).values()];
    const rows = await this.store(sent.map((i) => all[i]!));
    const results = all.map((signed): Result => ({ signed, row: USED_PROOF }));
    for (const i of sent) results[i] = { signed: all[i]!, row: undefined };
    for (const row of rows) {
      const i = sent[row.place - 1]!;
      results[i] = { signed: all[i]!, row };
    }
    return results;
  }

  private sign(refresh: Refresh): SignedRefresh {
    const { session, authentication, proof, claims, idleFor, delegation, latest = Infinity } = refresh;
    const { sessionIdleTtl } = this.settings;
    const idleEndsAt =
      sessionIdleTtl === undefined || delegation
        ? null
        : toIdleEnd(this.clock.now() / 1000, idleFor, sessionIdleTtl);
    const content = { authentication, proof, delegation, claims: claims.effective };
    const end = Math.min(latest, idleEndsAt ?? Infinity);
    return { ...refresh, issued: this.accessTokens.issue(session, { ...content, latest: end }), idleEndsAt };
  }

  /** Waits for a locked session, outside of the batch, which it must not delay. */
  private async moveIdleEnd(signed: SignedRefresh, began: number): Promise<void> {
    if (await this.moveBatched(signed)) return;
    const { session, idleEndsAt } = signed;
    const values = [session.userId, session.sessionId, idleEndsAt];
    await this.queue.run(session.userId, () => this.sql.query(MOVE_IDLE_END, values), began);
  }
}

/** Returns seconds since the epoch: for a report beyond the limit a time that is past by every clock. */
function toIdleEnd(now: number, idleFor: number, ttl: number): number {
  return idleFor >= ttl ? 0 : now - idleFor + ttl;
}

function toParameters(signed: SignedRefresh): PlainElement[] {
  const { refreshToken, session, proof, claims, issued, idleEndsAt } = signed;
  const jkt = proof?.jkt ?? null;
  const { jti, expiresAt, token, exp } = issued;
  const tokenHash = hashRefreshToken(refreshToken, jkt);
  const { userId, sessionId } = session;
  return [userId, sessionId, tokenHash, jkt, claims.version, jti, expiresAt, token, exp, idleEndsAt];
}

/** `unnest` adds NULLs to shorter arrays, so a column of NULLs needs none. */
function toArray(elements: readonly PlainElement[]): string | null {
  return elements.every((element) => element === null) ? null : plainArray(elements);
}

/** The hash includes the key: only the key of the session shows whether the refresh token is right. */
function findRefusal(
  { refusal, tokenHash, jkt }: Omit<RefreshRow, 'place'>,
  { refreshToken }: Refresh,
): Refused['refusal'] | null {
  if (refusal !== 'token') return refusal;
  return tokenHash?.equals(hashRefreshToken(refreshToken, jkt)) ? 'proof' : 'session';
}

function isMoved(before: number | null, after: number | null): boolean {
  if (before === null || after === null) return before !== after;
  return Math.abs(before - after) > LEAST_MOVE;
}
