/** Answer of POST /oauth2/token (spec §4.3). */
export class IssuedTokens {
  /** A JWT. */
  access_token!: string;

  token_type!: 'Bearer';

  /** Told only here; reusable until it expires. */
  refresh_token!: string;

  /** Lifetime of the access token, in seconds. */
  expires_in!: number;

  /** The user: a UUID. */
  user_id!: string;
}
