import { parseSettings } from '../config/settings/parse-settings.js';
import { ServerMetadataController } from './server-metadata.controller.js';

const metadataOf = (env: Record<string, string> = {}): unknown => {
  const settings = parseSettings({
    SECRET_KEY: 'ab'.repeat(32),
    PUBLIC_URL: 'https://id.example',
    ...env,
  });
  return JSON.parse(JSON.stringify(new ServerMetadataController(settings).metadata()));
};

/** What stock clients set themselves up with (contract §4; RFC 8414 §2): a member that is not kept is a broken promise. */
describe('the metadata of the service', () => {
  it('is all that is there, and no more', () => {
    expect(metadataOf()).toEqual({
      issuer: 'https://id.example',
      authorization_endpoint: 'https://id.example/oauth2/authorize',
      token_endpoint: 'https://id.example/oauth2/token',
      jwks_uri: 'https://id.example/.well-known/jwks.json',
      revocation_endpoint: 'https://id.example/oauth2/revoke',
      revocation_endpoint_auth_methods_supported: ['none'], // RFC 7009: the token is credential enough
      introspection_endpoint: 'https://id.example/oauth2/introspect',
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
      service_documentation: 'https://id.example/docs',
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'], // public clients without registration
      authorization_response_iss_parameter_supported: true, // RFC 9207
      dpop_signing_alg_values_supported: ['ES256'],
    });
  });

  it('says PUBLIC_URL as clients know it: the issuer is compared as an exact string (RFC 8414 §3.3)', () => {
    expect(metadataOf({ PUBLIC_URL: 'http://localhost:3000/' })).toMatchObject({
      issuer: 'http://localhost:3000',
      token_endpoint: 'http://localhost:3000/oauth2/token',
    });
  });
});
