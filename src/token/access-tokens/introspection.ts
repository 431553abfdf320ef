import { Expose } from 'class-transformer';

/** What a token says, for holders of a service key (RFC 7662 §2.2). Members that a token does not have are left out. */
export class Introspection {
  /** Whether the token is good at this moment. All other members are there only if it is. */
  @Expose()
  active!: boolean;

  /** The user: a UUID. */
  @Expose()
  sub?: string;

  /** The session: a UUID. */
  @Expose()
  sid?: string;

  /** The device: a UUID; left out for a session without a device. */
  @Expose()
  device_id?: string;

  /** The token itself: a UUID; left out for a refresh token. */
  @Expose()
  jti?: string;

  /** When it was issued: seconds since the epoch. */
  @Expose()
  iat?: number;

  /** When it expires: seconds since the epoch. */
  @Expose()
  exp?: number;

  /** Who issued it: PUBLIC_URL. */
  @Expose()
  iss?: string;

  /** For whom: PUBLIC_URL. */
  @Expose()
  aud?: string;

  /** `Bearer` for an access token, else `refresh_token`. */
  @Expose()
  token_type?: 'Bearer' | 'refresh_token';
}
