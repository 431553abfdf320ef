import request from 'supertest';
import { signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

const KEY = 'a-service_key.of~thirty+two/characters==';
const PUSH_KEY = 'a-key-of-the-right-to-push-and-nothing-else';

const basic = (password: string, user = 'an-api'): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
/** As RFC 6749 §2.3.1 has it; some clients encode even more than they need to. */
const encoded = (text: string): string =>
  Array.from(text, (character) => `%${character.charCodeAt(0).toString(16)}`).join('');

/**
 * Stock clients of introspection know no bearer token, but a client's name and password (RFC 7662 §2.1;
 * docs/stock-clients.md#verifying-access-tokens).
 */
describe('a service key as the password of Basic', () => {
  let address = 0;

  const { service } = useService({
    SERVICE_KEYS: `read:${KEY},push:${PUSH_KEY}`,
    RATE_LIMIT: 'on',
    RATE_LIMIT_BAD_TOKEN: '2',
    TRUST_PROXY: 'loopback',
  });
  const tokens = prepare(() => signIn(service.url));

  const newAddress = (): string => `203.0.113.${++address}`;

  function introspect(authorization: string, from = newAddress()): request.Test {
    return request(service.url)
      .post('/oauth2/introspect')
      .set({ Authorization: authorization, 'X-Forwarded-For': from })
      .type('form')
      .send({ token: tokens.access_token });
  }

  it.each([
    ['as it is', basic(KEY)],
    ['percent-encoded to the last character', basic(encoded(KEY))],
    ['without a user name', basic(KEY, '')],
    ['with a strange user name', basic(KEY, 'ä%ZZ ')],
  ])('%s', async (_name, authorization) => {
    const { body } = await introspect(authorization).expect(200);
    expect(body).toMatchObject({ active: true, sub: tokens.user_id, token_type: 'Bearer' });
  });

  it.each([
    ['another password', basic(`${KEY}x`)],
    ['the key as the user name', basic('', KEY)],
    ['the key encoded twice', basic(encodeURIComponent(encodeURIComponent(KEY)))],
    ['another scheme', basic(KEY).replace('Basic', 'Digest')],
  ])('refuses %s, with no dialog for a password, and counts it', async (_name, authorization) => {
    const from = newAddress();
    for (const status of [401, 401, 429]) {
      const { body, headers } = await introspect(authorization, from).expect(status);
      expect(headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
      expect(body).toMatchObject({ error: status === 401 ? 'invalid_token' : 'slow_down' });
    }
    await introspect(basic(KEY), from).expect(200);
  });

  it('a user’s access token is no password, and a key needs the right', async () => {
    await introspect(basic(tokens.access_token)).expect(401);
    const { body, headers } = await introspect(basic(PUSH_KEY)).expect(403);
    expect(body).toMatchObject({ error: 'insufficient_scope' });
    expect(headers['www-authenticate']).toBe('Bearer error="insufficient_scope"');
  });

  it.each([
    ['post', '/push', PUSH_KEY],
    ['get', '/sessions/ended', KEY],
  ] as const)('only there: %s %s refuses it', async (method, path, key) => {
    const call = request(service.url)[method](path).set('X-Forwarded-For', newAddress());
    const { headers } = await call.set('Authorization', basic(key)).expect(401);
    expect(headers['www-authenticate']).toBe('Bearer');
  });

  // What a stock client sends besides (RFC 6749 §2.3, §3.3): clients are not registered, and have no secrets here.
  it.each([
    ['/oauth2/token', { grant_type: 'refresh_token' }],
    ['/oauth2/refresh', {}],
    ['/oauth2/revoke', { token_type_hint: 'refresh_token' }],
  ])('%s ignores client_id, client_secret, scope and Basic', async (path, body) => {
    const { refresh_token } = await signIn(service.url);
    await request(service.url)
      .post(path)
      .set('Authorization', basic('a client secret', 'a client'))
      .type('form')
      .send({ client_id: 'a client', client_secret: 'a client secret', scope: 'openid profile' })
      .send({ ...body, token: refresh_token, refresh_token })
      .expect(200);
  });

  it('is in no line of the log, in no form', () => {
    const forms = [KEY, encodeURIComponent(KEY), basic(KEY).slice('Basic '.length), tokens.access_token];
    const lines = service.log.join('\n');
    expect(lines).toContain('/oauth2/introspect');
    expect(forms.filter((form) => lines.includes(form))).toEqual([]);
  });
});
