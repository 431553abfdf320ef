import { Controller, Get, Header, Inject } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { answer } from '../http/answer.js';
import { Public } from '../token/access.js';
import { ServerMetadata } from './server-metadata.js';

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
