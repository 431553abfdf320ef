import { Controller, Get, Header, Inject } from '@nestjs/common';
import { Expose } from 'class-transformer';
import type { Settings } from '../config/settings/settings.js';
import { SETTINGS } from '../config/settings/settings.module.js';
import { answer } from '../http/answer.js';
import { Public } from '../token/guard/access.js';

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

/**
 * Where everything is that a stock client needs (RFC 8414; RFC 8615 for the path). There is no `openid-configuration`: the
 * service issues no ID tokens, and does not pretend to.
 */
@Public()
@Controller()
export class ServerMetadataController {
  private readonly document: ServerMetadata;

  constructor(@Inject(SETTINGS) settings: Settings) {
    this.document = describe(settings);
  }

  /**
   * What the service is and does, for clients that configure themselves
   *
   * Authorization server metadata (RFC 8414).
   *
   * @returns Only what the service has.
   */
  @Get('.well-known/oauth-authorization-server')
  @Header('Cache-Control', 'public, max-age=300')
  metadata(): ServerMetadata {
    return this.document;
  }
}

/** Only what is really there: a member that is left out is a promise that is not made. */
function describe({ publicUrl }: Settings): ServerMetadata {
  return answer(ServerMetadata, {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth2/authorize`,
    token_endpoint: `${publicUrl}/oauth2/token`,
    jwks_uri: `${publicUrl}/.well-known/jwks.json`,
    revocation_endpoint: `${publicUrl}/oauth2/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
    introspection_endpoint: `${publicUrl}/oauth2/introspect`,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
    service_documentation: `${publicUrl}/docs`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    dpop_signing_alg_values_supported: ['ES256'],
  });
}
