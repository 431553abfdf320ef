/** Answer of POST /oauth2/refresh (spec §4.4). */
export class RefreshedToken {
  /** A JWT. */
  access_token!: string;

  token_type!: 'Bearer';

  /** Lifetime of the access token, in seconds. */
  expires_in!: number;
}
