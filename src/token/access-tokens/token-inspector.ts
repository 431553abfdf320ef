import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { plainArray } from '../../database/batching.js';
import { Sql } from '../../database/sql.js';
import type { SessionIds } from '../../events.js';
import { selectUser } from '../../user/user.sql.js';
import type { AccessTokenClaims } from './access-token.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { Session } from '../sessions/session.entity.js';
import {
  hashRefreshToken,
  parseRefreshToken,
  type Authentication,
  type HeldToken,
} from '../refresh/refresh-token.js';

/** Valid token of either kind; times are seconds since the epoch. */
export interface InspectedToken extends Pick<AccessTokenClaims, 'iat' | 'exp' | 'iss' | 'aud'> {
  readonly session: SessionIds;
  readonly authentication: Authentication | undefined;
  readonly kind: 'Bearer' | 'refresh_token';
  readonly jti?: string;
  /** Version of the user's claims now; absent if it was not read. */
  readonly claimsVersion?: number;
}

interface Row {
  readonly tokenHash: Buffer;
  readonly jkt: Buffer | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
type Lookup = (session: SessionIds) => Promise<Row | undefined>;

const selectLive = (more: string, from: string, session: string): string => `
    SELECT ${more} token_hash AS "tokenHash", jkt, created_at AS "createdAt", expires_at AS "expiresAt"
    FROM ${from} WHERE ${session} AND signed_out_at IS NULL AND expires_at > now()`;

const FIND = {
  name: 'refresh-token',
  text: selectLive('', 'refresh_tokens', 'user_id = $1 AND session_id = $2'),
};
const FIND_EACH = {
  name: 'refresh-tokens',
  text: selectLive(
    'place::int,',
    `unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS n (for_user, for_session, place), refresh_tokens`,
    'user_id = for_user AND session_id = for_session',
  ),
};

/** Looks up tokens of either kind, for revocation and introspection. */
@Injectable()
export class TokenInspector {
  private readonly findLive: Lookup;
  private readonly findSuspect: Lookup;

  constructor(
    private readonly accessTokens: AccessTokenVerifier,
    @InjectRepository(Session) private readonly refreshTokens: Repository<Session>,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly sql: Sql,
  ) {
    const read = (sessions: SessionIds[]): Promise<(Row | undefined)[]> => this.readEach(sessions);
    this.findLive = sql.batched('refresh-token', read);
    this.findSuspect = sql.batched('refresh-token-suspect', read);
  }

  /**
   * @param isSuspect whether the address has sent too many bad tokens: its lookups have batches of their own, so others do not wait
   * @returns undefined for a token that is unknown, expired or ended
   */
  async inspect(token: string, isSuspect = false): Promise<InspectedToken | undefined> {
    const held = parseRefreshToken(token);
    if (!held) return this.inspectAccessToken(token);
    return this.inspectRefreshToken(token, held, isSuspect ? this.findSuspect : this.findLive);
  }

  private async inspectAccessToken(token: string): Promise<InspectedToken | undefined> {
    const verified = await this.accessTokens.inspect(token);
    if (!verified) return undefined;
    const { jti, iat, exp, iss, aud, auth_time, acr, amr } = verified.claims;
    const authentication = { auth_time, acr, amr };
    const { session, claimsVersion } = verified;
    return { session, authentication, kind: 'Bearer', jti, iat, exp, iss, aud, claimsVersion };
  }

  /**
   * Whether the session that a refresh token names has this token, live or not, and its user exists: events of a removed user keep no
   * new facts. It uses tables of several modules.
   */
  async isOurs(token: string, { userId, sessionId }: SessionIds): Promise<boolean> {
    const stored = await this.refreshTokens
      .createQueryBuilder('token')
      .where({ userId, sessionId })
      .andWhere(`EXISTS (${selectUser(':userId', 'true')})`, { userId })
      .getOne();
    return stored?.tokenHash.equals(hashRefreshToken(token, stored.jkt)) ?? false;
  }

  /** Needs no proof, even of a bound session: a client that has a token may revoke it (RFC 7009). */
  private async inspectRefreshToken(
    token: string,
    { session, authentication }: HeldToken,
    find: Lookup,
  ): Promise<InspectedToken | undefined> {
    const stored = await find(session);
    if (!stored?.tokenHash.equals(hashRefreshToken(token, stored.jkt))) return undefined;
    const { publicUrl } = this.settings;
    const [iat, exp] = [seconds(stored.createdAt), seconds(stored.expiresAt)];
    return { session, authentication, kind: 'refresh_token', iat, exp, iss: publicUrl, aud: publicUrl };
  }

  private async readEach(sessions: readonly SessionIds[]): Promise<(Row | undefined)[]> {
    const columns = [sessions.map(({ userId }) => userId), sessions.map(({ sessionId }) => sessionId)];
    if (sessions.length === 1)
      return [
        (
          await this.sql.query<Row>(
            FIND,
            columns.map(([id]) => id),
          )
        )[0],
      ];
    const rows = await this.sql.query<Row & { readonly place: number }>(FIND_EACH, columns.map(plainArray));
    const found = new Map(rows.map((row) => [row.place, row]));
    return sessions.map((_, i) => found.get(i + 1));
  }
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
