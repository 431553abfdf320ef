import { Injectable } from '@nestjs/common';
import { plainArray } from '../../database/statements/plain-array.js';
import { Sql } from '../../database/statements/sql.js';
import type { Session } from '../../events.js';
import { selectUser } from '../../user/user.sql.js';
import { hashRefreshToken, MAX_REFRESH_TOKEN } from './refresh-token.js';

// It uses tables of several modules: events of a removed user keep no new facts.
const COLUMNS = 'r.session_id AS "sessionId", r.token_hash AS "tokenHash", r.jkt';
const FIND = {
  name: 'refresh-token-known',
  text: `
    SELECT ${COLUMNS} FROM refresh_tokens r
    WHERE user_id = $1 AND session_id = $2 AND EXISTS (${selectUser('$1', 'true')})`,
};
const FIND_MANY = {
  name: 'refresh-tokens-known',
  text: `
    SELECT ${COLUMNS} FROM unnest($1::uuid[], $2::uuid[]) AS n (user_id, session_id)
    JOIN refresh_tokens r ON r.user_id = n.user_id AND r.session_id = n.session_id
    WHERE EXISTS (${selectUser('n.user_id', 'true')})`,
};

interface Row {
  readonly sessionId: string;
  readonly tokenHash: Buffer;
  readonly jkt: Buffer | null;
}

/** Distinguishes tokens of the service, live or not, from forged ones. */
@Injectable()
export class KnownTokens {
  private readonly find: (session: Session) => Promise<Row | undefined>;

  constructor(sql: Sql) {
    this.find = sql.together('refused-refresh', async (sessions: Session[]) => {
      const columns = [sessions.map(({ userId }) => userId), sessions.map(({ sessionId }) => sessionId)];
      const rows =
        sessions.length === 1
          ? await sql.query<Row>(FIND, columns.flat())
          : await sql.query<Row>(FIND_MANY, columns.map(plainArray));
      const bySession = new Map(rows.map((row) => [row.sessionId, row]));
      return sessions.map(({ sessionId }) => bySession.get(sessionId));
    });
  }

  /** Whether the session that a refresh token names has this token, also after its end, and its user exists. */
  async has(token: string, session: Session): Promise<boolean> {
    if (token.length > MAX_REFRESH_TOKEN) return false;
    const row = await this.find(session);
    return row !== undefined && row.tokenHash.equals(hashRefreshToken(token, row.jkt));
  }
}
