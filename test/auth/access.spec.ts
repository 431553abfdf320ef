import { createPublicKey, randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Express } from 'express';
import request from 'supertest';
import { KeyRing, signJwt } from '../../src/token/keys/key-ring.js';
import { manyAtOnce } from '../support/crowd.js';
import { DIRECTORY_ENV } from '../support/directory.js';
import { query } from '../support/database.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { routes as documented } from '../openapi/document.js';
import { mutantsOf } from '../support/forged-tokens.js';
import { RawSocket } from '../support/socket-client.js';
import { SERVICE_KEY } from '../support/service.js';
import { prepare, useService } from '../support/use.js';

/** Routes for directories, which have tokens of their own. */
const SCIM = ' /scim/v2/';

/** Keys with one right each (docs/production.md#service-keys). */
const RIGHTS = ['push', 'read', 'support', 'users'] as const;
const keyOf = (right: string): string => `the-key-of-the-right-to-${right}-nothing-else`;

/** What opens each kind of route; `key:…` are service keys, `with …` the roles of a user. A key without a named right opens all but `user`. */
const OPENS = {
  user: ['user', 'with support', 'with admin'],
  push: ['key:push'],
  read: ['key:read'],
  support: ['key:support', 'key:users', 'with support', 'with admin'],
  users: ['key:users', 'with admin'],
  'key of users': ['key:users'],
  'read or support': ['key:read', 'key:support', 'key:users', 'with support', 'with admin'],
} as const;

/** Logins of people, whose roles are called like them. */
const PEOPLE = { user: 'ada', 'with support': 'latchkey-support', 'with admin': 'latchkey-admin' };

/** `provider`: only a token of the provider opens it (test/provider-events/revocation.spec.ts). */
type Kind = 'public' | 'provider' | keyof typeof OPENS;

/** How docs/openapi.json says it. */
const SCHEMES: Record<Kind, string[]> = {
  public: [],
  provider: [],
  user: ['accessToken'],
  push: ['serviceKey push'],
  read: ['serviceKey read'],
  support: ['serviceKey support', 'accessToken support'],
  users: ['serviceKey users', 'accessToken users'],
  'key of users': ['serviceKey users'],
  'read or support': ['serviceKey read', 'serviceKey support', 'accessToken support'],
};

/** Who may call what: every route is entered here. The files of the demo and of the administration page are one line. */
const ACCESS: Readonly<Record<string, Kind>> = {
  'GET /': 'public',
  'GET /callback': 'public',
  'GET /demo/*': 'public',
  'GET /latchkey-client/*': 'public',
  'POST /demo/push': 'user',
  'GET /admin': 'public',
  'GET /admin{/}': 'public',
  'GET /admin/*': 'public',
  'GET /admin/session': 'user',
  'GET /admin/overview': 'support',
  'GET /admin/trail': 'support',
  'GET /admin/providers/:name/directory': 'support',
  'GET /admin/providers': 'support',
  'POST /admin/providers/:name/test': 'users',
  'GET /oauth2/authorize': 'public',
  'POST /oauth2/token': 'public',
  'POST /oauth2/refresh': 'public',
  'POST /oauth2/callback-error': 'public',
  'POST /oauth2/revoke': 'public',
  'POST /oauth2/introspect': 'read',
  'GET /.well-known/jwks.json': 'public',
  'GET /.well-known/oauth-authorization-server': 'public',
  'GET /.well-known/openid-configuration': 'public',
  'GET /forward-auth': 'user', // the token that a proxy passes on
  'GET /oauth2/providers': 'public',
  'GET /me': 'user',
  'GET /me/identities': 'user',
  'POST /me/identities': 'user',
  'POST /me/identities/complete': 'user',
  'POST /me/identities/merge': 'user',
  'DELETE /me/identities/:provider': 'user',
  'GET /users/:user_id/identities': 'users',
  'POST /users/:user_id/identities': 'key of users',
  'DELETE /users/:user_id/identities/:provider': 'users',
  'GET /me/device-requests': 'user',
  'POST /me/device-requests/:user_code': 'user',
  'POST /oauth2/device_authorization': 'public',
  'GET /agents/authorize': 'public',
  'GET /agents/callback': 'public',
  'GET /agents/consent': 'public',
  'POST /agents/consent': 'public',
  'POST /agents/sign-out': 'support',
  'GET /admin/agents': 'support',
  'GET /device': 'public',
  'POST /device': 'public',
  'GET /device/callback': 'public',
  'GET /device/confirm': 'public',
  'POST /device/confirm': 'public',
  'GET /devices': 'user',
  'PATCH /devices/:device_id': 'user',
  'DELETE /devices/:device_id': 'user',
  'GET /devices/refused': 'user',
  'POST /devices/:device_id/allow': 'user',
  'POST /sign-out': 'user',
  'GET /users': 'support',
  'POST /users': 'users',
  'GET /users/removed': 'users',
  'GET /users/:user_id': 'support',
  'GET /users/:user_id/devices': 'support',
  'GET /users/:user_id/sessions': 'support',
  'GET /users/:user_id/export': 'support',
  'PATCH /users/:user_id': 'users',
  'POST /users/:user_id/sign-out': 'support',
  'POST /users/sign-out': 'support',
  'GET /users/:user_id/claims': 'users',
  'PUT /users/:user_id/claims': 'users',
  'DELETE /users/:user_id': 'users',
  'GET /audit': 'read or support',
  'GET /audit/counts': 'support',
  'GET /audit/stream': 'read',
  'POST /push': 'push',
  'POST /push/batch': 'push',
  'GET /sessions/ended': 'read',
  'GET /docs': 'public',
  'GET /docs/openapi.json': 'public',
  'GET /health/live': 'public',
  'GET /health/ready': 'public',
  'GET /metrics': 'public', // in production: read (metrics.spec.ts)
  'GET /providers/mock/oauth2/authorize': 'public',
  'POST /providers/mock/oauth2/authorize': 'public',
  'POST /providers/mock/oauth2/token/exchange': 'public',
  'GET /providers/:name/callback': 'public',
  'POST /providers/:name/callback': 'public',
  'POST /providers/corp/backchannel-logout': 'public',
  'POST /providers/corp/signals': 'public',
  'POST /providers/corp/global-token-revocation': 'provider',
};

/** @returns path of a file with one API */
function agentsFile(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'access-')), 'agents.json');
  const api = { resource: 'https://api.example', name: 'API', scopes: { read: 'Read' } };
  writeFileSync(path, JSON.stringify({ resources: [api] }));
  return path;
}

describe('who may call what', () => {
  /** Access tokens by login. */
  const sessions: Record<string, string> = {};

  const { service } = useService(() => ({
    AGENTS_FILE: agentsFile(),
    DEVICE_GRANT: 'push',
    ...DIRECTORY_ENV,
    PROVIDERS_CORP_ADAPTER: 'oidc',
    PROVIDERS_CORP_URL: 'http://127.0.0.1:1',
    PROVIDERS_CORP_CLIENT_ID: 'latchkey',
    PROVIDERS_CORP_SIGNALS: 'on',
    PROVIDERS_CORP_LINKS: 'mock',
    PROVIDERS_CORP_ID_JAG: 'on',
    PROVIDERS_CORP_CLIENT_SECRET: 'a client secret of the provider',
    SERVICE_KEYS: [SERVICE_KEY, ...RIGHTS.map((right) => `${right}:${keyOf(right)}`)].join(),
  }));
  const tokens = prepare(() => signIn(service.url, 'ada', { device_id: randomUUID() }));
  beforeAll(async () => {
    for (const role of Object.values(PEOPLE)) {
      const { user_id } = await signIn(service.url, role);
      const path = `/users/${user_id}/claims`;
      await bearer(service.url, SERVICE_KEY)
        .put(path, { claims: { roles: ['x', role] } })
        .expect(200);
    }
  });

  /** All routes that Express has, as `GET /me`. */
  function routes(): string[] {
    const express: Express = service.app.getHttpAdapter().getInstance();
    const all = express.router.stack.flatMap(({ route }) =>
      Object.keys(route ? (route as unknown as { methods: object }).methods : {}).map(
        (method) => `${method.toUpperCase()} ${route!.path}`,
      ),
    );
    const isPage =
      /^(GET \/(?:demo|latchkey-client|admin(?!\/(?:agents|session|overview|providers|trail))))\/.*/;
    return [...new Set(all.map((route) => route.replace(isPage, '$1/*')))];
  }

  it('every route is in the table', () => {
    const all = routes().filter((route) => !route.includes(SCIM));
    const missing = all.filter((route) => !Object.hasOwn(ACCESS, route));
    const gone = Object.keys(ACCESS).filter((route) => !all.includes(route));
    expect({ 'add to ACCESS, with who may call it': missing, 'remove from ACCESS': gone }).toEqual({
      'add to ACCESS, with who may call it': [],
      'remove from ACCESS': [],
    });
  });

  it('no token of the service opens a route of directories', async () => {
    const ofDirectories = routes().filter((route) => route.includes(SCIM));
    expect(ofDirectories.length).toBeGreaterThan(20);
    for (const route of ofDirectories) {
      const [method, path] = route.split(' ') as [string, string];
      if (!['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) continue;
      const at = path.replace(':provider', 'stub').replace(/:\w+|\*\w+/, randomUUID());
      for (const token of [undefined, SERVICE_KEY, tokens.access_token]) {
        const call = request(service.url)[method.toLowerCase() as 'get'](at);
        const { status } = await (token === undefined ? call : call.set('Authorization', `Bearer ${token}`));
        expect([route, status]).toEqual([route, 401]);
      }
    }
  });

  it('the document says so of every call', () => {
    const expected = documented.map(({ method, path }) => {
      const route = path.replace(/\{name\}(?=\/back)/, 'corp').replaceAll(/\{(\w+)\}/g, ':$1');
      // The document describes production.
      return [path, SCHEMES[path === '/metrics' ? 'read' : ACCESS[`${method} ${route}`]!]];
    });
    const found = documented.map(({ path, operation: { security } }) => {
      const schemes = security.flatMap((one) =>
        Object.entries(one).map(([name, of]) => [name, ...of].join(' ')),
      );
      return [path, schemes.filter((scheme) => !/^(?:proof|basic)/.test(scheme))];
    });
    expect(found).toEqual(expected);
  });

  it.each(Object.entries(ACCESS))('%s: %s', async (route, kind) => {
    const [method, path] = route.split(' ') as [string, string];
    const call = (token?: string, hasEnd = true) => {
      const at = path.replace(/:\w+/, randomUUID()).replace('*', 'demo.js');
      const test = request(service.url)[method.toLowerCase() as 'get'](at).buffer(hasEnd);
      return token === undefined ? test : test.set('Authorization', `Bearer ${token}`);
    };
    const anonymous = await call();
    if (kind === 'public') {
      expect(anonymous.headers['www-authenticate']).toBeUndefined();
      expect((await call('nonsense')).status).toBe(anonymous.status);
      return;
    }
    expect([anonymous.status, anonymous.headers['www-authenticate']]).toEqual([401, 'Bearer']); // RFC 6750 §3.1
    const BAD = [401, 'Bearer error="invalid_token"'];
    const TOO_LITTLE = [403, 'Bearer error="insufficient_scope"'];
    const forged = await call('nonsense');
    expect([forged.status, forged.headers['www-authenticate']]).toEqual(BAD);
    if (kind === 'provider') {
      const ofUser = await call(tokens.access_token);
      expect([401, 503]).toContain(ofUser.status); // the keys of this provider cannot be had
      expect((await call(SERVICE_KEY)).status).toBe(401);
      return;
    }
    const opens: readonly string[] = kind === 'user' ? OPENS.user : ['key:all', ...OPENS[kind]];
    const people = Object.entries(PEOPLE).map(async ([name, login]) => {
      const begin = async () => (await signIn(service.url, login)).access_token;
      const token = path === '/sign-out' ? await begin() : (sessions[login] ??= await begin()); // which it ends
      return [name, token] as const;
    });
    const keys = RIGHTS.map((right) => [`key:${right}`, keyOf(right)] as const);
    for (const [name, token] of [
      ...(await Promise.all(people)),
      ...keys,
      ['key:all', SERVICE_KEY],
    ] as const) {
      const isOpened = opens.includes(name);
      const { status, headers, body } = await call(token, !isOpened); // one answer has no end
      if (isOpened) {
        expect([name, status === 401 || status === 403]).toEqual([name, false]);
        continue;
      }
      const refusal = kind === 'user' ? BAD : TOO_LITTLE;
      expect([name, status, headers['www-authenticate']]).toEqual([name, ...refusal]);
      const error = kind === 'user' ? 'invalid_token' : 'insufficient_scope';
      expect(body).toEqual({ error, error_description: expect.any(String) });
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
    const keys = service.app.get(KeyRing);
    const { privateKey } = keys.signer!;
    const genuine = { token: tokens.access_token, privateKey, publicKey: createPublicKey(privateKey) };
    const forged = [...mutantsOf(genuine)];
    expect(forged.length).toBeGreaterThanOrEqual(500);
    const answers: Record<string, unknown> = {};
    await manyAtOnce(forged.length, 8, async (i) => {
      const [name, token] = forged[i]!;
      if (token === tokens.access_token) throw new Error(`${name} is not a mutant`);
      const answer = await fetch(`${service.url}/me`, { headers: { Authorization: `Bearer ${token}` } });
      await answer.text(); // the next one uses the connection again
      if (answer.status !== 401) answers[name] = answer.status;
      if (i % 20) return; // each in a request, and every twentieth at a socket as well
      const packet = await answerToHandshake(token);
      if (!packet.startsWith('44') || !packet.includes('"invalid_token"'))
        answers[`${name}, socket`] = packet;
    });
    expect(answers).toEqual({});
    await bearer(service.url, tokens.access_token).get('/me').expect(200);
    expect(await answerToHandshake(tokens.access_token)).toMatch(/^40/);
  });

  it('introspection refuses a stored token that has expired, or is for another issuer or audience', async () => {
    const { header, privateKey } = service.app.get(KeyRing).signer!;
    const own = claimsOf(tokens.access_token);
    const changes = [
      {},
      { exp: Number(own['iat']) - 1 },
      { iss: 'https://x.example' },
      { aud: 'https://x.example' },
    ];
    const active: unknown[] = [];
    for (const change of changes) {
      const jti = randomUUID();
      const token = signJwt(header, { ...own, jti, ...change }, privateKey);
      await query(
        service.databaseUrl,
        `INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token) VALUES ($1, $2, $3, now() + interval '1 hour', $4)`,
        [own['sub'], own['sid'], jti, token],
      );
      const { body } = await bearer(service.url, SERVICE_KEY)
        .post('/oauth2/introspect', { token })
        .expect(200);
      active.push((body as { active: unknown }).active);
    }
    expect(active).toEqual([true, false, false, false]);
  });

  /** Answer to a socket with this token: `40…` it is let in, `44…` an error. */
  async function answerToHandshake(token: string): Promise<string> {
    const raw = await RawSocket.open(service.url);
    raw.send(`40${JSON.stringify({ token })}`);
    const packet = await raw.until((one) => one.startsWith('4'));
    raw.destroy();
    return packet;
  }
});
