import { Injectable } from '@nestjs/common';
import { hashRefreshToken } from '../token/refresh/refresh-token.js';
import { MOVE_IDLE_END } from '../token/refresh/refresh.sql.js';
import { RefreshStore, type RefreshRow, type SignedRefresh } from '../token/refresh/refresh.store.js';

/** Finds the live session: $1 user, $2 session. Times are seconds since the epoch. */
const FIND_SESSION = {
  name: 'refresh-session-on-citus',
  text: `
    SELECT token_hash AS "tokenHash", jkt, extract(epoch FROM expires_at)::float8 AS "endsAt",
      extract(epoch FROM idle_ends_at)::float8 AS "idleEndsAt", ends_because IS NOT NULL AS "isEarly",
      extract(epoch FROM now())::float8 AS now,
      coalesce((SELECT claims_version FROM users WHERE user_id = $1 AND claims_version <> 0), 0)::float8 AS version
    FROM refresh_tokens WHERE user_id = $1 AND session_id = $2 AND expires_at > now()`,
};

/** Stores the token, unless its proof was used. Without the alias, Citus rejects RETURNING. */
const STORE_TOKEN = {
  name: 'refresh-on-citus',
  text: `
    INSERT INTO access_tokens AS t (user_id, session_id, jti, expires_at, token)
    VALUES ($1, $2, $3, to_timestamp($4), $5) ON CONFLICT DO NOTHING RETURNING t.jti`,
};

interface Found extends Pick<RefreshRow, 'jkt' | 'idleEndsAt'> {
  readonly tokenHash: Buffer;
  readonly endsAt: number;
  readonly isEarly: boolean;
  readonly now: number;
  readonly version: number;
}

/** Stores access tokens on Citus: each refresh is a batch of its own (Sql.batched), on the user's node. */
@Injectable()
export class CitusRefreshStore extends RefreshStore {
  protected override async store([signed]: readonly SignedRefresh[]): Promise<RefreshRow[]> {
    const { session, issued } = signed!;
    const ids = [session.userId, session.sessionId];
    const [found] = await this.sql.query<Found>(FIND_SESSION, ids);
    if (!found) return [toRow({ refusal: 'session' })];
    const { tokenHash, jkt, idleEndsAt } = found;
    const mayEndEarly = this.mayEndEarly || found.isEarly;
    const own = { tokenHash, jkt, idleEndsAt, endsAt: mayEndEarly ? found.endsAt : null };
    const refusal = check(found, signed!, mayEndEarly);
    if (refusal !== null && !(refusal === 'idle' && jkt !== null)) return [toRow({ ...own, refusal })];
    const values = [...ids, issued.jti, issued.expiresAt, issued.token];
    const stored = await this.sql.query(STORE_TOKEN, values);
    return [toRow({ ...own, refusal: stored.length === 0 ? 'proof' : refusal })];
  }

  protected override async move([signed]: readonly SignedRefresh[]): Promise<Set<string>> {
    const { session, idleEndsAt } = signed!;
    await this.sql.query(MOVE_IDLE_END, [session.userId, session.sessionId, idleEndsAt]);
    return new Set([session.sessionId]);
  }
}

/** Checks as REFRESH does. */
function check(found: Found, signed: SignedRefresh, mayEndEarly: boolean): RefreshRow['refusal'] {
  const jkt = signed.proof?.jkt ?? null;
  const isSameKey = found.jkt === null ? jkt === null : jkt?.equals(found.jkt) === true;
  const tokenHash = hashRefreshToken(signed.refreshToken, jkt);
  if (!isSameKey || !found.tokenHash.equals(tokenHash)) return 'token';
  const ends = [found.idleEndsAt, signed.idleEndsAt];
  if (ends.some((end) => end !== null && end <= found.now)) return 'idle';
  if (mayEndEarly && signed.issued.exp > found.endsAt) return 'end';
  return found.version === signed.claims.version ? null : 'claims';
}

function toRow(members: Partial<RefreshRow>): RefreshRow {
  return { place: 1, refusal: null, tokenHash: null, jkt: null, endsAt: null, idleEndsAt: null, ...members };
}
