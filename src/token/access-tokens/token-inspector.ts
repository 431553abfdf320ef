import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Raw, type Repository } from 'typeorm';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import type { Session } from '../../events.js';
import { selectUser } from '../../user/user.sql.js';
import type { AccessTokenClaims } from './access-token.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { RefreshToken } from '../sessions/refresh-token.entity.js';
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

/** Looks up tokens of either kind, for revocation and introspection. */
@Injectable()
export class TokenInspector {
  constructor(
    private readonly accessTokens: AccessTokenVerifier,
    @InjectRepository(RefreshToken) private readonly refreshTokens: Repository<RefreshToken>,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

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
    const { userId, sessionId } = session;
    const stored = await this.refreshTokens.findOneBy({
      userId,
      sessionId,
      signedOutAt: IsNull(),
      expiresAt: Raw((column) => `${column} > now()`), // the database's clock
    });
    if (!stored?.tokenHash.equals(hashRefreshToken(token, stored.jkt))) return undefined;
    const { publicUrl } = this.settings;
    const [iat, exp] = [seconds(stored.createdAt), seconds(stored.expiresAt)];
    return { session, authentication, kind: 'refresh_token', iat, exp, iss: publicUrl, aud: publicUrl };
  }
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
