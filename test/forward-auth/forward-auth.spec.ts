import { createPublicKey, randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { Events } from '../../src/platform/events.js';
import { KeyRing, signJwt } from '../../src/token/keys/key-ring.js';
import { manyAtOnce } from '../support/crowd.js';
import { query } from '../support/database.js';
import { mutantsOf } from '../support/forged-tokens.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

const NAMES = ['user', 'session', 'device', 'username', 'email', 'roles', 'groups', 'claims'];

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** docs/forward-auth.md */
describe('forward auth', () => {
  const { provider, service } = useService({
    SERVICE_KEYS: SERVICE_KEY,
    RATE_LIMIT: 'on',
    RATE_LIMIT_BAD_TOKEN: '1',
    RATE_LIMIT_TOKEN: '1000',
    RATE_LIMIT_AUTHORIZE: '1000',
  });
  beforeAll(() =>
    provider.claims.set('ada', {
      roles: ['editor'],
      groups: ['berlin, hq'],
      email: 'ada@example.com',
      plan: 'pro',
    }),
  );
  const tokens = prepare(() => signIn(service.url, 'ada', { device_id: randomUUID() }));

  /** Sends a request as a proxy may: any method, path and headers, as they are. */
  function ask(
    path: string,
    token?: string,
    method = 'GET',
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const { port } = new URL(service.url);
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ port, path, method, headers: { ...authorization, ...more } }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
      });
      sent.on('error', reject).end();
    });
  }

  const identity = ({ headers }: Answer): Record<string, unknown> =>
    Object.fromEntries(NAMES.map((name) => [name, headers[`x-latchkey-${name}`]]));

  it('answers with the user in headers, and with no body', async () => {
    const { sid, device_id } = claimsOf(tokens.access_token);
    const answer = await ask('/forward-auth', tokens.access_token);
    expect([answer.status, answer.body, answer.headers['cache-control']]).toEqual([200, '', 'no-store']);
    expect(identity(answer)).toEqual({
      user: tokens.user_id,
      session: sid,
      device: device_id,
      username: expect.stringMatching(/./),
      email: 'ada@example.com',
      roles: 'editor',
      groups: 'berlin%2C%20hq',
      claims: '',
    });
    const { claims } = identity(await ask('/forward-auth?claims=1', tokens.access_token));
    expect(JSON.parse(Buffer.from(claims as string, 'base64url').toString())).toEqual({ plan: 'pro' });
  });

  const METHODS = ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE'];
  const PATHS = ['/', '/api/orders/1', '/%FF', '/..%2f..%2fme', '/%2e%2e/me', '/a?b', '//'];

  it('answers every method and path alike, without CORS', async () => {
    const asked = {
      Origin: 'http://localhost:1',
      'Access-Control-Request-Method': 'DELETE',
      'X-Forwarded-Method': 'GET',
      'X-Forwarded-Uri': '/public',
      'X-Original-URL': '/public',
      'X-Original-Method': 'OPTIONS',
    };
    const calls = [
      ...METHODS.map((method) => ['/forward-auth', method] as const),
      ...PATHS.filter((path) => !path.includes('?')).map((path) => [`/forward-auth${path}`, 'GET'] as const),
      ['/forward-auth/x', 'OPTIONS'] as const,
    ];
    for (const [path, method] of calls) {
      const good = await ask(path, tokens.access_token, method, asked);
      const bad = await ask(path, 'nonsense', method, asked);
      const none = await ask(path, undefined, method, asked);
      expect([path, method, good.status, good.headers['x-latchkey-user'], bad.status, none.status]).toEqual([
        path,
        method,
        200,
        tokens.user_id,
        401,
        401,
      ]);
      for (const { headers } of [good, bad, none])
        expect(Object.keys(headers).filter((name) => /^(?:access-control|allow)/.test(name))).toEqual([]);
    }
    expect((await ask('/forward-authx', tokens.access_token)).status).toBe(404);
  });

  it('reads no body', async () => {
    for (const [token, status] of [
      [tokens.access_token, 200],
      ['nonsense', 401],
    ] as const) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      const head = `POST /forward-auth HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 1000000000\r\n\r\n`;
      socket.write(head); // and not a byte of the body
      const [first] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve)))
        .toString()
        .split('\r\n');
      socket.destroy();
      expect(first).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    }
  });

  it.each(
    [
      'role=',
      'role=%20',
      'role=a&role=',
      'group=',
      'max_age=',
      'max_age=-1',
      'max_age=1.5',
      'max_age=1&max_age=1',
      'acr=',
      'acr=a%22b',
      'acr=a&acr=a',
      'acr=a%20%20b',
      'claims=0',
      'claims=',
      'claims=1&claims=1',
      'roles=admin',
      'Role=admin',
      'role[]=admin',
      'x',
      '=',
      '__proto__=x',
    ].map((text) => [text]),
  )('refuses the query %s', async (text) => {
    const { status, body, headers } = await ask(`/forward-auth?${text}`, tokens.access_token);
    expect([status, JSON.parse(body).error, headers['x-latchkey-user']]).toEqual([
      400,
      'invalid_request',
      undefined,
    ]);
  });

  it.each([
    ['role=editor', 200],
    ['role=admin', 403],
    ['role=admin&role=editor', 200],
    ['group=berlin, hq', 200],
    ['role=editor&group=paris', 403],
  ])('%s: %s', async (text, expected) => {
    const { status, headers } = await ask(`/forward-auth?${encodeURI(text)}`, tokens.access_token);
    const challenge = expected === 403 ? 'Bearer error="insufficient_scope"' : undefined;
    expect([status, headers['www-authenticate']]).toEqual([expected, challenge]);
  });

  it('follows a change of claims at once', async () => {
    const other = await signIn(service.url, 'bob');
    const passes = async (): Promise<number> =>
      (await ask('/forward-auth?role=chief', other.access_token)).status;
    expect(await passes()).toBe(403);
    const put = (roles: string[]) =>
      bearer(service.url, SERVICE_KEY)
        .put(`/users/${other.user_id}/claims`, { claims: { roles } })
        .expect(200);
    await put(['chief']);
    expect(await passes()).toBe(200);
    await put([]);
    expect(await passes()).toBe(403);
  });

  it('refuses an authentication that is too old, or of another class', async () => {
    const { header, privateKey } = service.app.get(KeyRing).signer!;
    const own = claimsOf(tokens.access_token);
    const now = Math.floor(Date.now() / 1000);
    const jti = randomUUID();
    const token = signJwt(header, { ...own, jti, auth_time: now - 600, acr: 'silver' }, privateKey);
    await query(
      service.databaseUrl,
      `INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token) VALUES ($1, $2, $3, now() + interval '1 hour', $4)`,
      [own['sub'], own['sid'], jti, token],
    );
    const statuses: Record<string, unknown> = {};
    for (const text of ['max_age=3600', 'max_age=300', 'acr=silver', 'acr=gold%20silver', 'acr=gold']) {
      const { status, headers } = await ask(`/forward-auth?${text}`, token);
      statuses[text] = [status, headers['www-authenticate'], headers['x-latchkey-user'] !== undefined];
    }
    const challenge = (what: string): unknown => [
      401,
      `Bearer error="insufficient_user_authentication", ${what}`,
      false,
    ];
    expect(statuses).toEqual({
      'max_age=3600': [200, undefined, true],
      'max_age=300': challenge('max_age="300"'),
      'acr=silver': [200, undefined, true],
      'acr=gold%20silver': [200, undefined, true],
      'acr=gold': challenge('acr_values="gold"'),
    });
  });

  it('refuses no token, another scheme, a service key, an ended token, and 500 forged ones; none counts', async () => {
    const ended = await signIn(service.url);
    await bearer(service.url, ended.access_token).post('/sign-out').expect(204);
    const answers = [
      await ask('/forward-auth'),
      await ask('/forward-auth', undefined, 'GET', { Authorization: 'Basic YTpi' }),
      await ask('/forward-auth', undefined, 'GET', { Authorization: 'Bearer' }),
      await ask('/forward-auth', SERVICE_KEY),
      await ask('/forward-auth', ended.access_token),
      await ask('/forward-auth', ended.refresh_token),
      await ask(`/forward-auth?access_token=${tokens.access_token}`),
      await ask('/forward-auth', undefined, 'GET', { Cookie: `access_token=${tokens.access_token}` }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers['www-authenticate']])).toEqual([
      [401, 'Bearer'],
      [401, 'Bearer'],
      [401, 'Bearer error="invalid_token"'],
      [401, 'Bearer error="invalid_token"'],
      [401, 'Bearer error="invalid_token"'],
      [401, 'Bearer error="invalid_token"'],
      [401, 'Bearer'],
      [401, 'Bearer'],
    ]);
    const { privateKey } = service.app.get(KeyRing).signer!;
    const genuine = { token: tokens.access_token, privateKey, publicKey: createPublicKey(privateKey) };
    const forged = [...mutantsOf(genuine)];
    const wrong: unknown[] = [];
    await manyAtOnce(forged.length, 8, async (i) => {
      const [name, token] = forged[i]!;
      const { status } = await fetch(`${service.url}/forward-auth`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      if (status !== 401) wrong.push([name, status]);
    });
    expect(wrong).toEqual([]);
    expect((await ask('/forward-auth', tokens.access_token)).status).toBe(200);
  });

  it('is no use of the session', async () => {
    const used: unknown[] = [];
    service.app.get(Events).on('session.used', (one) => void used.push(one));
    await ask('/forward-auth', tokens.access_token);
    expect(used).toEqual([]);
    await bearer(service.url, tokens.access_token).get('/me').expect(200);
    expect(used).toHaveLength(1);
  });

  it('sends fewer groups if the headers are too large, with one warning, and requires all of them', async () => {
    const { access_token: token, user_id: userId } = await signIn(service.url, 'large');
    const groups = Array.from({ length: 60 }, (_, i) => `${'語'.repeat(20)}${i}`);
    await bearer(service.url, SERVICE_KEY).put(`/users/${userId}/claims`, { claims: { groups } }).expect(200);
    await ask('/forward-auth', token);
    const { status, headers } = await ask(`/forward-auth?group=${encodeURIComponent(groups[59]!)}`, token);
    const sent = (headers['x-latchkey-groups'] as string).split(',').map(decodeURIComponent);
    expect([status, headers['x-latchkey-user'], sent]).toEqual([200, userId, groups.slice(0, sent.length)]);
    const warnings = service.log.filter(
      (line) => line.includes(userId) && line.includes('beyond 7168 bytes'),
    );
    expect(warnings).toEqual([expect.stringContaining(`${sent.length} of 60 groups are kept (map_groups`)]);
  });

  it('sends the profile, as it is now, in the statement that finds the token', async () => {
    const other = await signIn(service.url, 'carol');
    const { body: me } = await bearer(service.url, other.access_token).get('/me');
    const statements: string[] = [];
    service.app.get(Events).on('statement.batched', ({ name }) => void statements.push(name));
    const first = await ask('/forward-auth', other.access_token);
    expect(statements).toEqual(['forwarded-token']);
    expect(identity(first)).toMatchObject({
      username: encodeURIComponent(me.username as string),
      email: '',
    });
    await query(service.databaseUrl, `UPDATE users SET username = NULL, email = 'c,d@x' WHERE user_id = $1`, [
      other.user_id,
    ]);
    const both = await Promise.all([
      ask('/forward-auth', other.access_token),
      ask('/forward-auth', tokens.access_token),
    ]);
    expect(both.map(identity)).toMatchObject([
      { username: '', email: 'c%2Cd@x' },
      { username: expect.stringMatching(/./), email: 'ada@example.com' },
    ]);
  });

  it('answers 500 if the database fails', async () => {
    await query(service.databaseUrl, 'ALTER TABLE access_tokens RENAME TO away');
    try {
      const { status, headers } = await ask('/forward-auth', tokens.access_token);
      expect([status, headers['x-latchkey-user']]).toEqual([500, undefined]);
    } finally {
      await query(service.databaseUrl, 'ALTER TABLE away RENAME TO access_tokens');
    }
  });
});
