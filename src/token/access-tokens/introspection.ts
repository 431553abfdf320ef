import { Expose } from 'class-transformer';

/** Answer of POST /oauth2/introspect (RFC 7662 §2.2). Members that a token does not have are left out. */
export class Introspection {
  /** Whether the token is valid now. All other members are present only if it is. */
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

  /** Id of the token: a UUID; left out for a refresh token. */
  @Expose()
  jti?: string;

  /** Time of issue: seconds since the epoch. */
  @Expose()
  iat?: number;

  /** Expiry: seconds since the epoch. */
  @Expose()
  exp?: number;

  /** Issuer: PUBLIC_URL. */
  @Expose()
  iss?: string;

  /** Audience: PUBLIC_URL. */
  @Expose()
  aud?: string;

  /** `Bearer` for an access token, else `refresh_token`. */
  @Expose()
  token_type?: 'Bearer' | 'refresh_token';
}
