import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { plainArray, type PlainElement } from '../../platform/database/batching.js';
import { Clock } from '../../platform/database/clock.js';
import { OneAtATime } from '../../platform/database/limits.js';
import { isLockConflict, Sql } from '../../platform/database/sql.js';
import { AccessTokens, type IssuedAccessToken } from '../access-tokens/access-token.js';
import { findReason, toParameters, type Refresh, type Refused } from '../access-tokens/access-token.store.js';
import { REFRESH_WITHIN_LIMITS } from './refresh.sql.js';

export interface LimitedRefresh extends Refresh {
  /** Seconds since the last use, as the client reports. */
  readonly idleFor: number;
  /** End of the session, in seconds since the epoch, if an attempt was refused by it. */
  readonly latest?: number;
}

/** `endsAt`: of the session, in seconds since the epoch; its idle end may come before. */
interface LimitedToken extends IssuedAccessToken {
  readonly endsAt: number;
}

/** `idle`: the session ends by its idle time; `end`: the token would outlive the session. */
type LimitedRefusal =
  { readonly refusal: Refused['refusal'] | 'idle' } | { readonly refusal: 'end'; readonly endsAt: number };

export interface LimitedRow {
  /** Counts from 1. */
  readonly place: number;
  readonly refusal: 'session' | 'token' | 'idle' | 'end' | 'claims' | 'proof' | null;
  readonly tokenHash: Buffer | null;
  readonly jkt: Buffer | null;
  readonly endsAt: number | null;
}

/** One locked session must not delay the others of a batch. */
const BATCH_LOCK_TIMEOUT = '50ms';
const RETRY_UNBATCHED = Symbol('retry unbatched');
type Result = LimitedToken | LimitedRefusal;

/**
 * Stores access tokens for sessions that may end before `REFRESH_TOKEN_TTL`, none of which outlives its
 * session (docs/guides/session-length.md#how-long-a-session-lasts). On Citus: CitusLimitedRefreshStore.
 */
@Injectable()
export class LimitedRefreshStore {
  private readonly batched: (refresh: LimitedRefresh) => Promise<Result | typeof RETRY_UNBATCHED>;
  private readonly queue = new OneAtATime('too many refreshes of one user');

  constructor(
    private readonly sql: Sql,
    private readonly accessTokens: AccessTokens,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'sessionIdleTtl'>,
  ) {
    this.batched = sql.batched('refresh-within-limits', (refreshes: LimitedRefresh[]) =>
      this.issueBatch(refreshes),
    );
  }

  async issue(refresh: LimitedRefresh): Promise<Result> {
    const began = performance.now();
    const result = await this.batched(refresh);
    if (result !== RETRY_UNBATCHED) return result;
    const { userId } = refresh.session;
    const [alone] = await this.queue.run(userId, () => this.issueEach([refresh], null), began);
    return alone!;
  }

  /**
   * @param rows parameters of one refresh each
   * @param lockTimeout as PostgreSQL's `lock_timeout`; null: only the statement timeout applies
   */
  protected store(rows: readonly PlainElement[][], lockTimeout: string | null): Promise<LimitedRow[]> {
    const columns = rows[0]!.map((_, column) => plainArray(rows.map((row) => row[column]!)));
    return this.sql.query<LimitedRow>(REFRESH_WITHIN_LIMITS, [...columns, lockTimeout]);
  }

  private async issueBatch(refreshes: LimitedRefresh[]): Promise<(Result | typeof RETRY_UNBATCHED)[]> {
    try {
      return await this.issueEach(refreshes, BATCH_LOCK_TIMEOUT);
    } catch (error) {
      if (!isLockConflict(error)) throw error;
      return refreshes.map(() => RETRY_UNBATCHED);
    }
  }

  private async issueEach(refreshes: LimitedRefresh[], lockTimeout: string | null): Promise<Result[]> {
    const now = this.clock.now() / 1000;
    const { sessionIdleTtl } = this.settings;
    const issued = refreshes.map((refresh) => {
      const { session, authentication, proof, claims, idleFor, latest = Infinity } = refresh;
      const idleEndsAt = sessionIdleTtl === undefined ? null : toIdleEnd(now, idleFor, sessionIdleTtl);
      const most = Math.min(latest, idleEndsAt ?? Infinity);
      const content = { authentication, proof, claims: claims.effective, latest: most };
      return { idleEndsAt, token: this.accessTokens.issue(session, content) };
    });
    // One for each proof: the statement would not report which of several it stored.
    const sent = [...new Map(issued.map(({ token }, i) => [token.jti, i])).values()];
    const rows = await this.store(
      sent.map((i) => {
        const { token, idleEndsAt } = issued[i]!;
        return [...toParameters(refreshes[i]!, token), token.exp, idleEndsAt];
      }),
      lockTimeout,
    );
    const results = refreshes.map((): Result => ({ refusal: 'proof' }));
    for (const { place, ...row } of rows) {
      const i = sent[place - 1]!;
      results[i] = toResult(row, refreshes[i]!, issued[i]!.token);
    }
    return results;
  }
}

/** Returns seconds since the epoch: for a report beyond the limit a time that is past by every clock. */
function toIdleEnd(now: number, idleFor: number, ttl: number): number {
  return idleFor >= ttl ? 0 : now - idleFor + ttl;
}

function toResult(row: Omit<LimitedRow, 'place'>, refresh: LimitedRefresh, token: IssuedAccessToken): Result {
  const { refusal, tokenHash, jkt, endsAt } = row;
  if (refusal === null) return { ...token, endsAt: endsAt! };
  const reason = findReason({ refusal, tokenHash, jkt }, refresh);
  return reason === 'end' ? { refusal: reason, endsAt: endsAt! } : { refusal: reason };
}
