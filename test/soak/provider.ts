import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../../bench/listen.js';
import { identityOf } from '../../bench/sign-in-users.js';
import { makeLogoutToken } from '../support/logout-mutants.js';
import { reissue } from '../support/oidc-id-token.js';
import { makeSigningKey } from '../support/signing-key.js';
import { readCode } from './provider-code.js';

/*
 * The providers of a soak, in a process of their own that keeps nothing: one of the contract (spec §4.5), and one of OpenID Connect,
 * which also makes the logout token that it would send (`/logout-token?sub=…&sid=…`).
 */

const EXCHANGE = '/oauth2/token/exchange';
const key = makeSigningKey('soak');

function answer(issuer: string, { pathname, searchParams }: URL, body: string): object | string {
  const code = new URLSearchParams(body).get('code') ?? '';
  switch (pathname) {
    case EXCHANGE:
      return identityOf(code);
    case '/.well-known/openid-configuration':
      return {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
      };
    case '/jwks':
      return { keys: [{ ...key.jwk, d: undefined }] };
    case '/token':
      return { access_token: 'an access token', token_type: 'Bearer', id_token: idToken(issuer, code) };
    case '/logout-token':
      return makeLogoutToken(key, { iss: issuer, ...Object.fromEntries(searchParams) });
    default:
      return {};
  }
}

function idToken(issuer: string, code: string): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: 'latchkey', iat: now, exp: now + 60, ...readCode(code) };
  return reissue('e30.e30.', key, claims, { alg: 'ES256', kid: key.jwk['kid'] });
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const issuer = `http://${request.headers.host}`;
  const said = answer(issuer, new URL(request.url!, issuer), await text(request));
  const body = typeof said === 'string' ? said : JSON.stringify(said);
  response.writeHead(200, {
    'Content-Type': typeof said === 'string' ? 'text/plain' : 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

await listen(createServer((request, response) => void serve(request, response)));
