import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Raw, type Repository } from 'typeorm';
import { plainArray } from '../../database/statements/plain-array.js';
import { Sql } from '../../database/statements/sql.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import type { Session } from '../../events.js';
import { selectUser } from '../../user/user.sql.js';
import type { AccessTokenClaims } from './access-token.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { RefreshToken } from '../sessions/refresh-token.entity.js';
import { LIVING } from '../sessions/session.sql.js';
import {
  hashRefreshToken,
  parseRefreshToken,
  type Authentication,
  type HeldToken,
} from '../refresh/refresh-token.js';

/** Valid token of either kind; times are seconds since the epoch. */
export interface InspectedToken extends Pick<AccessTokenClaims, 'iat' | 'exp' | 'iss' | 'aud'> {
  readonly session: Session;
  readonly authentication: Authentication | undefined;
  readonly kind: 'Bearer' | 'refresh_token';
  readonly jti?: string;
  /** Version of the user's claims now; absent if it was not read. */
  readonly claimsVersion?: number;
}

type Stored = Pick<RefreshToken, 'tokenHash' | 'jkt' | 'createdAt' | 'expiresAt'>;

const LIVING_SESSIONS = {
  name: 'living-sessions',
  text: `
    SELECT place, token_hash AS "tokenHash", jkt, created_at AS "createdAt", expires_at AS "expiresAt"
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS named (user_id, session_id, place)
    JOIN refresh_tokens USING (user_id, session_id)
    WHERE ${LIVING}`,
};

/** Looks up tokens of either kind, for revocation and introspection. */
@Injectable()
export class TokenInspector {
  /** Batched: a made-up token must cost less than a statement. */
  private readonly findLiving: (session: Session) => Promise<Stored | null | undefined>;

  constructor(
    sql: Sql,
    private readonly accessTokens: AccessTokenVerifier,
    @InjectRepository(RefreshToken) private readonly refreshTokens: Repository<RefreshToken>,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.findLiving = sql.together('living-sessions', async (sessions: Session[]) => {
      if (sessions.length === 1) return [await this.findOne(sessions[0]!)];
      const ids = [sessions.map(({ userId }) => userId), sessions.map(({ sessionId }) => sessionId)];
      const rows = await sql.query<Stored & { readonly place: string }>(LIVING_SESSIONS, ids.map(plainArray));
      const found = new Map(rows.map((row) => [Number(row.place), row]));
      return sessions.map((_, index) => found.get(index + 1));
    });
  }

  /** @returns undefined for a token that is unknown, expired or ended */
  async inspect(token: string): Promise<InspectedToken | undefined> {
    const held = parseRefreshToken(token);
    return held ? this.inspectRefreshToken(token, held) : this.inspectAccessToken(token);
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
  async isOurs(token: string, { userId, sessionId }: Session): Promise<boolean> {
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
  ): Promise<InspectedToken | undefined> {
    const stored = await this.findLiving(session);
    if (!stored?.tokenHash.equals(hashRefreshToken(token, stored.jkt))) return undefined;
    const { publicUrl } = this.settings;
    const [iat, exp] = [seconds(stored.createdAt), seconds(stored.expiresAt)];
    return { session, authentication, kind: 'refresh_token', iat, exp, iss: publicUrl, aud: publicUrl };
  }

  private findOne({ userId, sessionId }: Session): Promise<Stored | null> {
    return this.refreshTokens.findOneBy({
      userId,
      sessionId,
      signedOutAt: IsNull(),
      expiresAt: Raw((column) => `${column} > now()`), // the database's clock
    });
  }
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
