import { Injectable } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type Session } from '../events.js';
import { AccessTokens } from './access-token.js';
import { AccessTokenStore } from './access-token.store.js';
import { hashRefreshToken, parseRefreshToken } from './refresh-token.js';

export interface RefreshedToken {
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. */
  expires_in: number;
}

@Injectable()
export class TokenService {
  constructor(
    private readonly accessTokens: AccessTokens,
    private readonly store: AccessTokenStore,
    private readonly events: Events,
  ) {}

  /**
   * A new access token for the session of a refresh token (spec §4.4).
   * The refresh token is neither replaced, nor extended, nor revoked by it (spec §2.2).
   * @throws OAuthError `invalid_grant` when it is unknown or expired.
   */
  async refresh(refreshToken: string): Promise<RefreshedToken> {
    const session = parseRefreshToken(refreshToken);
    if (!session) throw this.refused(undefined);
    const accessToken = this.accessTokens.issue(session);
    const stored = await this.store.storeForSession({
      session,
      tokenHash: hashRefreshToken(refreshToken),
      accessToken,
    });
    if (!stored) throw this.refused(session);
    this.events.emit('session.used', session);
    return { access_token: accessToken.token, token_type: 'Bearer', expires_in: accessToken.expiresIn };
  }

  private refused(session: Session | undefined): OAuthError {
    this.events.emit('refresh.refused', session);
    return new OAuthError('invalid_grant', 'refresh token is unknown or has expired');
  }
}
