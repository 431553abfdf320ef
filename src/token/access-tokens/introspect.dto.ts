import { OAuthParameters, OptionalText, RequiredText } from '../../platform/http/parameters/parameter.js';

/** Body of POST /oauth2/introspect (RFC 7662 §2.1) and POST /oauth2/revoke (RFC 7009 §2.1). */
@OAuthParameters()
export class TokenAndHintDto {
  /** A refresh token or an access token. */
  @RequiredText()
  token!: string;

  /**
   * The kind of token that the caller expects. Only introspection uses it: a refresh token needs
   * `refresh_token` there.
   */
  @OptionalText()
  token_type_hint?: string;
}

/** Answer of POST /oauth2/introspect (RFC 7662 §2.2). Members that a token does not have are left out. */
export class Introspection {
  /** Whether the token is valid now. All other members are present only if it is. */
  active!: boolean;

  /** The user: a UUID. */
  sub?: string;

  /** The session: a UUID. */
  sid?: string;

  /** The device: a UUID; left out for a session without a device. */
  device_id?: string | undefined;

  /** Id of the token: a UUID; left out for a refresh token. */
  jti?: string | undefined;

  /** Time of issue: seconds since the epoch. */
  iat?: number;

  /** Expiry: seconds since the epoch. */
  exp?: number;

  /** Issuer: PUBLIC_URL. */
  iss?: string;

  /** Audience: PUBLIC_URL, or the API that the token is for. */
  aud?: string;

  /** The program that a user lets act for them; left out for a token of the application. */
  client_id?: string | undefined;

  /** What the program may do at the API, separated by spaces; left out likewise. */
  scope?: string | undefined;

  /** `Bearer` for an access token, else `refresh_token`. */
  token_type?: 'Bearer' | 'refresh_token';

  /** When the user authenticated, as the provider reports it: seconds since the epoch (RFC 9470 §6.2). */
  auth_time?: number | undefined;

  /** Authentication context class, as the provider reports it. */
  acr?: string | undefined;

  /** Authentication methods, as the provider reports them. */
  amr?: string[] | undefined;

  /**
   * Current claims of the user, as in an access token: six at the top level, all others in `claims`
   * (docs/guides/roles.md#in-the-token).
   */
  roles?: string[];

  groups?: string[];

  entitlements?: string[];

  name?: string;

  email?: string;

  preferred_username?: string;

  claims?: Record<string, unknown>;
}
