import { ProviderList } from '../../src/provider/listed-provider.js';
import { EXAMPLE } from '../examples.js';
import type { Json, Operations } from '../operation.js';
import { ServerMetadata } from '../../src/auth/server-metadata.controller.js';

const tag = 'Sign-in';

const JWK_SET: Json = {
  type: 'object',
  required: ['keys'],
  additionalProperties: false,
  properties: {
    keys: {
      type: 'array',
      items: {
        type: 'object',
        required: ['kty', 'crv', 'x', 'y', 'kid', 'use', 'alg'],
        additionalProperties: false,
        properties: {
          kty: { const: 'EC' },
          crv: { const: 'P-256' },
          x: { type: 'string' },
          y: { type: 'string' },
          kid: { type: 'string' },
          use: { const: 'sig' },
          alg: { const: 'ES256' },
        },
      },
    },
  },
};

/** What clients learn before they begin. */
export const DISCOVERY: Operations = {
  'GET /oauth2/providers': {
    id: 'providers',
    tag,
    summary: 'The enabled providers, for sign-in buttons',
    answers: {
      200: {
        description: 'In the order of the configuration.',
        types: [ProviderList],
        headers: ['Cache-Control'],
        examples: {
          'two providers': {
            providers: [
              { name: EXAMPLE.provider, mode: 'iframe', label: 'Sample provider' },
              { name: 'google', mode: 'popup', label: 'Google' },
            ],
          },
        },
      },
    },
  },
  'GET /.well-known/oauth-authorization-server': {
    id: 'metadata',
    tag,
    summary: 'What the service is and does, for clients that set themselves up',
    description: 'Authorization server metadata (RFC 8414).',
    answers: {
      200: {
        description: 'Only what is really there.',
        types: [ServerMetadata],
        headers: ['Cache-Control'],
        examples: {
          'as it is by default': {
            issuer: EXAMPLE.issuer,
            authorization_endpoint: `${EXAMPLE.issuer}/oauth2/authorize`,
            token_endpoint: `${EXAMPLE.issuer}/oauth2/token`,
            jwks_uri: `${EXAMPLE.issuer}/.well-known/jwks.json`,
            revocation_endpoint: `${EXAMPLE.issuer}/oauth2/revoke`,
            revocation_endpoint_auth_methods_supported: ['none'],
            introspection_endpoint: `${EXAMPLE.issuer}/oauth2/introspect`,
            introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
            service_documentation: `${EXAMPLE.issuer}/docs`,
            response_types_supported: ['code'],
            response_modes_supported: ['query'],
            grant_types_supported: ['authorization_code', 'refresh_token'],
            code_challenge_methods_supported: ['S256'],
            token_endpoint_auth_methods_supported: ['none'],
            authorization_response_iss_parameter_supported: true,
            dpop_signing_alg_values_supported: ['ES256'],
          },
        },
      },
    },
  },
  'GET /.well-known/jwks.json': {
    id: 'jwks',
    tag,
    summary: 'The public keys that verify access tokens',
    description: 'RFC 7517. A key is published at least ten minutes before its first use.',
    answers: {
      200: {
        description: 'Newest first.',
        schema: JWK_SET,
        headers: ['Cache-Control'],
        examples: {
          'one key': {
            keys: [
              {
                kty: 'EC',
                crv: 'P-256',
                x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
                y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
                kid: EXAMPLE.kid,
                use: 'sig',
                alg: 'ES256',
              },
            ],
          },
        },
      },
    },
  },
};
