import { Injectable } from '@nestjs/common';
import { Sql } from '../database/sql.js';
import type { Session } from '../events.js';
import type { IssuedAccessToken } from './access-token.js';

export interface Refresh {
  readonly session: Session;
  readonly tokenHash: Buffer;
  /** Thumbprint of the key that was proven; null: none. */
  readonly jkt: Buffer | null;
  readonly accessToken: IssuedAccessToken;
}

// Checks the session and stores the token in one statement: nothing can happen between the two. A token that is issued for a
// proof has its `jti` from that, so the proof's second use on any instance meets a row and stores nothing (contract §5).
// Citus needs the name `t`.
const STORE_ONE = {
  name: 'refresh-one',
  text: `
    INSERT INTO access_tokens AS t (user_id, session_id, jti, expires_at, token)
    SELECT user_id, session_id, $4::uuid, to_timestamp($5::float8), $6::text
    FROM refresh_tokens
    WHERE user_id = $1 AND session_id = $2 AND token_hash = $3 AND expires_at > now()
      AND (jkt IS NULL OR jkt = $7)
    ON CONFLICT DO NOTHING
    RETURNING t.jti`,
};

// Rows are stored in the order of their keys: two statements with the same two proofs would else wait for each other.
const STORE_MANY = {
  name: 'refresh-many',
  text: `
    INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT r.user_id, r.session_id, n.jti, to_timestamp(n.expires_at), n.token
    FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::uuid[], $5::float8[], $6::text[], $7::bytea[])
      AS n (user_id, session_id, token_hash, jti, expires_at, token, jkt)
    JOIN refresh_tokens r ON r.user_id = n.user_id AND r.session_id = n.session_id
    WHERE r.token_hash = n.token_hash AND r.expires_at > now() AND (r.jkt IS NULL OR r.jkt = n.jkt)
    ORDER BY n.user_id, n.jti
    ON CONFLICT DO NOTHING
    RETURNING jti`,
};

@Injectable()
export class AccessTokenStore {
  /**
   * Stores an access token, if its refresh token is stored and has not expired, its session is bound to no other key than was
   * proven, and no token is stored for the same proof.
   * Refreshes that arrive together share one statement. One that was given up may still store its token: nobody has it.
   * @returns whether the token was stored.
   */
  readonly storeForSession: (refresh: Refresh) => Promise<boolean>;

  constructor(private readonly sql: Sql) {
    // On Citus each goes alone: a statement for users of many nodes would commit in two phases on all of them.
    this.storeForSession = sql.distributed
      ? (refresh) => this.storeOne(refresh)
      : sql.together('refresh', (refreshes: Refresh[]) => this.store(refreshes));
  }

  private async store(refreshes: Refresh[]): Promise<boolean[]> {
    if (refreshes.length === 1) return [await this.storeOne(refreshes[0]!)];
    // Of several with one proof only one is sent: the statement would store one as well, but not say which.
    const sent = new Map(refreshes.map((refresh) => [refresh.accessToken.jti, refresh]));
    const rows = [...sent.values()].map(valuesOf);
    const columns = rows[0]!.map((_, column) => rows.map((row) => row[column]));
    const stored = await this.sql.query<{ jti: string }>(STORE_MANY, columns);
    const jtis = new Set(stored.map(({ jti }) => jti));
    return refreshes.map((refresh) => {
      const { jti } = refresh.accessToken;
      return sent.get(jti) === refresh && jtis.has(jti);
    });
  }

  private async storeOne(refresh: Refresh): Promise<boolean> {
    const { length } = await this.sql.query(STORE_ONE, valuesOf(refresh));
    return length > 0;
  }
}

function valuesOf({ session, tokenHash, jkt, accessToken }: Refresh): unknown[] {
  const { jti, expiresAt, token } = accessToken;
  return [session.userId, session.sessionId, tokenHash, jti, expiresAt, token, jkt];
}
