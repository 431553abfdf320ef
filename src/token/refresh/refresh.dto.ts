/** Answer of POST /oauth2/refresh (spec §4.4). */
export class RefreshedToken {
  /** A JWT. */
  access_token!: string;

  token_type!: 'Bearer';

  /** Lifetime of the access token, in seconds. */
  expires_in!: number;

  /** Seconds to the end of the refresh token, if the session may end earlier than `REFRESH_TOKEN_TTL`. */
  refresh_token_expires_in?: number;

  /** Seconds to the end of the session without another use, if `SESSION_IDLE_TTL` is set. */
  idle_expires_in?: number;
}
