import { Expose } from 'class-transformer';

/** What the service is and does, for clients that set themselves up (RFC 8414 §2). URLs begin with PUBLIC_URL. */
export class ServerMetadata {
  /** PUBLIC_URL. */
  @Expose()
  issuer!: string;

  /** Where stock clients send the browser, with `response_type=code`. */
  @Expose()
  authorization_endpoint!: string;

  @Expose()
  token_endpoint!: string;

  @Expose()
  jwks_uri!: string;

  @Expose()
  revocation_endpoint!: string;

  /** `none`: who holds a token may end it. */
  @Expose()
  revocation_endpoint_auth_methods_supported!: string[];

  @Expose()
  introspection_endpoint!: string;

  /** A service key: the password of `client_secret_basic`, or a `Bearer` token. RFC 8414 §2 takes names from both registries. */
  @Expose()
  introspection_endpoint_auth_methods_supported!: string[];

  /** A page for people who develop clients. */
  @Expose()
  service_documentation!: string;

  @Expose()
  response_types_supported!: string[];

  @Expose()
  response_modes_supported!: string[];

  @Expose()
  grant_types_supported!: string[];

  @Expose()
  code_challenge_methods_supported!: string[];

  /** `none`: clients are public, and a secret is ignored. With that alone, clients that go by this list use PKCE. */
  @Expose()
  token_endpoint_auth_methods_supported!: string[];

  /** The redirect back carries `iss` (RFC 9207 §3). */
  @Expose()
  authorization_response_iss_parameter_supported!: boolean;

  /** RFC 9449 §5.1. */
  @Expose()
  dpop_signing_alg_values_supported!: string[];
}
