import { createPublicKey, randomUUID } from 'node:crypto';
import type { Express } from 'express';
import request from 'supertest';
import { KeyService } from '../../src/token/keys/key.service.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { mutantsOf } from '../support/forged-tokens.js';
import { RawSocket } from '../support/socket-client.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
/** Keys with one right each (contract §2). */
const RIGHTS = ['push', 'read', 'users'] as const;
const keyOf = (right: string): string => `the-key-of-the-right-to-${right}-nothing-else`;

/** Who may call what: every route is entered here. The demo's files are one line. */
const ACCESS: Record<string, 'public' | 'user' | 'push' | 'read' | 'users'> = {
  'GET /': 'public',
  'GET /callback': 'public',
  'GET /demo/*': 'public',
  'GET /latchkey-client/*': 'public',
  'POST /demo/push': 'user',
  'GET /oauth2/authorize': 'public',
  'POST /oauth2/token': 'public',
  'POST /oauth2/refresh': 'public',
  'POST /oauth2/callback-error': 'public',
  'POST /oauth2/revoke': 'public',
  'POST /oauth2/introspect': 'read',
  'GET /.well-known/jwks.json': 'public',
  'GET /.well-known/oauth-authorization-server': 'public',
  'GET /oauth2/providers': 'public',
  'GET /me': 'user',
  'GET /devices': 'user',
  'PATCH /devices/:device_id': 'user',
  'DELETE /devices/:device_id': 'user',
  'POST /sign-out': 'user',
  'POST /users/:user_id/sign-out': 'users',
  'POST /users/sign-out': 'users',
  'GET /users/:user_id/claims': 'users',
  'PUT /users/:user_id/claims': 'users',
  'DELETE /users/:user_id': 'users',
  'POST /push': 'push',
  'GET /sessions/ended': 'read',
  'GET /docs': 'public',
  'GET /docs/openapi.json': 'public',
  'GET /docs/swagger-ui-bundle.js': 'public',
  'GET /docs/swagger-ui.css': 'public',
  'GET /health/live': 'public',
  'GET /health/ready': 'public',
  'GET /metrics': 'public', // in production: read (metrics.spec.ts)
  'GET /providers/mock/oauth2/authorize': 'public',
  'POST /providers/mock/oauth2/authorize': 'public',
  'POST /providers/mock/oauth2/token/exchange': 'public',
  'GET /providers/:name/callback': 'public',
  'POST /providers/:name/callback': 'public',
  'POST /providers/corp/backchannel-logout': 'public',
};

describe('who may call what', () => {
  let provider: StubProvider;
  let service: TestService;
  let tokens: Tokens;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({
      ...provider.env(),
      PROVIDERS_CORP_ADAPTER: 'oidc',
      PROVIDERS_CORP_URL: 'http://127.0.0.1:1',
      PROVIDERS_CORP_CLIENT_ID: 'latchkey',
      PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the provider',
      SERVICE_KEYS: [SERVICE_KEY, ...RIGHTS.map((right) => `${right}:${keyOf(right)}`)].join(),
    });
    tokens = await signIn(service.url, 'ada', { device_id: randomUUID() });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  /** All routes that Express has, as `GET /me`. */
  function routes(): string[] {
    const express: Express = service.app.getHttpAdapter().getInstance();
    const all = express.router.stack.flatMap(({ route }) =>
      Object.keys(route ? (route as unknown as { methods: object }).methods : {}).map(
        (method) => `${method.toUpperCase()} ${route!.path}`,
      ),
    );
    return [...new Set(all.map((route) => route.replace(/^(GET \/(?:demo|latchkey-client))\/.*/, '$1/*')))];
  }

  it('every route is in the table', () => {
    expect(routes().toSorted()).toEqual(Object.keys(ACCESS).toSorted());
  });

  it.each(Object.entries(ACCESS))('%s: %s', async (route, access) => {
    const [method, path] = route.split(' ') as [string, string];
    const call = (token?: string) => {
      const at = path.replace(/:\w+/, randomUUID()).replace('*', 'demo.js');
      const test = request(service.url)[method.toLowerCase() as 'get'](at);
      return token === undefined ? test : test.set('Authorization', `Bearer ${token}`);
    };
    const anonymous = await call();
    if (access === 'public') {
      expect(anonymous.headers['www-authenticate']).toBeUndefined();
      expect((await call('nonsense')).status).toBe(anonymous.status);
      return;
    }
    expect([anonymous.status, anonymous.headers['www-authenticate']]).toEqual([401, 'Bearer']); // RFC 6750 §3.1
    const forged = await call('nonsense');
    expect([forged.status, forged.headers['www-authenticate']]).toEqual([
      401,
      'Bearer error="invalid_token"',
    ]);
    const asUser = await call(access === 'user' ? SERVICE_KEY : tokens.access_token);
    expect([asUser.status, (asUser.body as { error: string }).error]).toEqual(
      access === 'user' ? [401, 'invalid_token'] : [403, 'insufficient_scope'],
    );
    if (access === 'user') {
      for (const right of RIGHTS) expect((await call(keyOf(right))).status).toBe(401);
      return;
    }
    expect(asUser.headers['www-authenticate']).toBe('Bearer error="insufficient_scope"');
    expect([401, 403]).not.toContain((await call(SERVICE_KEY).buffer(false)).status); // a key with all rights
    for (const right of RIGHTS) {
      const { status, headers, body } = await call(keyOf(right)).buffer(right !== access); // one answer has no end
      if (right === access) expect([401, 403]).not.toContain(status);
      else {
        expect([status, headers['www-authenticate']]).toEqual([403, 'Bearer error="insufficient_scope"']); // RFC 6750 §3.1
        expect(body).toEqual({ error: 'insufficient_scope', error_description: expect.any(String) });
      }
    }
  });

  it('takes the scheme in any case (RFC 7235 §2.1), and the token only from the header', async () => {
    await request(service.url).get('/me').set('Authorization', `bearer ${tokens.access_token}`).expect(200);
    await request(service.url).get('/me').query({ access_token: tokens.access_token }).expect(401);
    await request(service.url).get('/me').set('Cookie', `access_token=${tokens.access_token}`).expect(401);
    await request(service.url)
      .post('/sign-out')
      .type('form')
      .send({ access_token: tokens.access_token })
      .expect(401);
  });

  it('accepts none of 500 forged tokens, for a request or for a socket, and none of them causes a server error (P6)', async () => {
    const keys = service.app.get(KeyService);
    const { privateKey } = keys.signing;
    const genuine = { token: tokens.access_token, privateKey, publicKey: createPublicKey(privateKey) };
    const answers: Record<string, unknown> = {};
    let count = 0;
    for (const [name, token] of mutantsOf(genuine)) {
      count++;
      if (token === tokens.access_token) throw new Error(`${name} is not a mutant`);
      const { status } = await bearer(service.url, token).get('/me');
      if (status !== 401) answers[name] = status;
      if (count % 5) continue; // each in a request, and every fifth at a socket as well
      const packet = await answerToHandshake(token);
      if (!packet.startsWith('44') || !packet.includes('"invalid_token"'))
        answers[`${name}, socket`] = packet;
    }
    expect(answers).toEqual({});
    expect(count).toBeGreaterThanOrEqual(500);
    await bearer(service.url, tokens.access_token).get('/me').expect(200);
    expect(await answerToHandshake(tokens.access_token)).toMatch(/^40/);
  }, 120_000);

  /** Answer to a socket with this token: `40…` it is let in, `44…` an error. */
  async function answerToHandshake(token: string): Promise<string> {
    const raw = await RawSocket.open(service.url);
    raw.send(`40${JSON.stringify({ token })}`);
    const packet = await raw.until((one) => one.startsWith('4'));
    raw.destroy();
    return packet;
  }
});
