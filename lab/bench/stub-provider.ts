import { createServer } from 'node:http';
import { CLIENT_ID, identityOf, ISSUER, OIDC_TOKEN } from './names.js';
import { listen } from './parent.js';

// An identity provider (spec §4.5.2) that answers at once, so that the service is measured and not the provider.
const server = createServer((request, response) => {
  let form = '';
  request.setEncoding('latin1');
  request.on('data', (chunk: string) => (form += chunk));
  request.on('end', () => {
    const code = /(?:^|&)code=([^&]*)/.exec(form)?.[1] ?? '';
    const identity = identityOf(code);
    const body = JSON.stringify(request.url === OIDC_TOKEN ? idTokenOf(identity) : identity);
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
});

/** The answer of an OpenID provider. Nothing is signed: Keycloak is not to verify it, as Latchkey and better-auth do not. */
function idTokenOf({ provider_user_id: sub, username, email }: ReturnType<typeof identityOf>): object {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: ISSUER,
    aud: CLIENT_ID,
    sub,
    iat: now,
    exp: now + 60,
    preferred_username: username,
    email,
  };
  const parts = [{ alg: 'ES256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  return { token_type: 'Bearer', access_token: 'of-no-use', id_token: `${parts.join('.')}.none` };
}

await listen(server);
