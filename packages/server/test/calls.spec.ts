import { randomUUID } from 'node:crypto';
import { createVerifier, LatchkeyError, type Verifier } from '../src/index.js';
import { FakeService, SERVICE_KEY } from './support/fake-service.js';
import { useEach } from '../../../test/support/use.js';

const FETCHED = { 'content-type': 'application/json', authorization: `Bearer ${SERVICE_KEY}` };

describe('calls of the service', () => {
  let called: unknown[][];

  const service = useEach(() => FakeService.start());
  const onWarning = (): void => undefined;
  beforeEach(() => {
    called = [];
  });
  const verifier = useEach(() => createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY, onWarning }));
  beforeEach(() => {
    service.other = service.introspect = ({ method, url, headers }, response, body) => {
      called.push([`${method} ${url}`, body ? JSON.parse(body) : undefined, headers['idempotency-key']]);
      expect(headers).toMatchObject(FETCHED);
      response
        .writeHead(url === '/push' ? 202 : 200)
        .end('{"id":"i","offset":1,"online":true,"users":[],"devices":[],"sessions":[],"events":[]}');
    };
  });

  const [user, device] = [randomUUID(), randomUUID()];

  it.each<[string, (by: Verifier) => PromiseLike<unknown>, unknown[]]>([
    [
      'push with everything',
      (by) =>
        by.push({ userId: user, event: 'note', data: [1], deviceId: device, ttl: 0, idempotencyKey: 'k' }),
      ['POST /push', { user_id: user, event: 'note', data: [1], device_id: device, ttl: 0 }, 'k'],
    ],
    [
      'introspect',
      (by) => by.introspect('t', 'refresh_token'),
      ['POST /oauth2/introspect', { token: 't', token_type_hint: 'refresh_token' }, undefined],
    ],
    [
      'users.find',
      (by) =>
        by.users.find({
          q: 'a&b',
          providerUserId: '1',
          suspended: false,
          limit: 2,
          role: undefined,
          cursor: 'c',
        }),
      ['GET /users?q=a%26b&suspended=false&limit=2&provider_user_id=1&cursor=c', undefined, undefined],
    ],
    ['users.get', (by) => by.users.get(user), [`GET /users/${user}`, undefined, undefined]],
    ['users.devices', (by) => by.users.devices(user), [`GET /users/${user}/devices`, undefined, undefined]],
    [
      'users.sessions',
      (by) => by.users.sessions(user, { cursor: 'c' }),
      [`GET /users/${user}/sessions?cursor=c`, undefined, undefined],
    ],
    [
      'users.signOut of one device',
      (by) => by.users.signOut(user, { deviceId: device }),
      [`POST /users/${user}/sign-out`, { device_id: device }, undefined],
    ],
    [
      'users.signOut of one session',
      (by) => by.users.signOut(user, { sessionId: device }),
      [`POST /users/${user}/sign-out`, { session_id: device }, undefined],
    ],
    [
      'users.signOut by the provider’s id',
      (by) => by.users.signOut({ provider: 'mock', providerUserId: 'a/b' }),
      ['POST /users/sign-out', { provider: 'mock', provider_user_id: 'a/b' }, undefined],
    ],
    [
      'users.signOut by e-mail address',
      (by) => by.users.signOut({ email: 'ada@example.com' }),
      ['POST /users/sign-out', { email: 'ada@example.com' }, undefined],
    ],
    [
      'users.suspend',
      (by) => by.users.suspend(user),
      [`PATCH /users/${user}`, { suspended: true }, undefined],
    ],
    [
      'users.restore',
      (by) => by.users.restore(user),
      [`PATCH /users/${user}`, { suspended: false }, undefined],
    ],
    ['users.remove', (by) => by.users.remove(user), [`DELETE /users/${user}`, {}, undefined]],
    [
      'audit.find',
      (by) =>
        by.audit.find({ userId: user, event: 'sign_in', since: new Date(0), until: '2026-11-01T00:00:00Z' }),
      [
        `GET /audit?event=sign_in&user_id=${user}&since=1970-01-01T00%3A00%3A00.000Z&until=2026-11-01T00%3A00%3A00Z`,
        undefined,
        undefined,
      ],
    ],
    [
      'audit.find by what an event has',
      (by) => by.audit.find({ address: '2001:db8::/48', requestId: device, newDevice: true, limit: 1 }),
      [
        `GET /audit?address=2001%3Adb8%3A%3A%2F48&request_id=${device}&new_device=true&limit=1`,
        undefined,
        undefined,
      ],
    ],
    [
      'audit.count',
      (by) => by.audit.count({ by: 'error', sessionId: device, newNetwork: true, since: new Date(0) }),
      [
        `GET /audit/counts?by=error&session_id=${device}&new_network=true&since=1970-01-01T00%3A00%3A00.000Z`,
        undefined,
        undefined,
      ],
    ],
    [
      'users.setClaims',
      (by) => by.users.setClaims(user, { roles: ['admin'] }),
      [`PUT /users/${user}/claims`, { claims: { roles: ['admin'] } }, undefined],
    ],
    ['users.claims', (by) => by.users.claims(user), [`GET /users/${user}/claims`, undefined, undefined]],
    [
      'an id that is none stays inside the path',
      (by) => by.users.signOut('../push?x'),
      ['POST /users/..%2Fpush%3Fx/sign-out', {}, undefined],
    ],
  ])('%s', async (_name, call, expected) => {
    await call(verifier);
    expect(called).toEqual([expected]);
  });

  it.each<[string, (by: Verifier) => Promise<unknown>]>([
    [
      'a device that is undefined',
      (by) => by.users.signOut(user, { deviceId: undefined as unknown as string }),
    ],
    [
      'a session that is undefined',
      (by) => by.users.signOut(user, { sessionId: undefined as unknown as string }),
    ],
    [
      'a device without the id of its user',
      (by) => by.users.signOut({ email: 'a@b.c' }, { deviceId: device }),
    ],
  ])('%s is not taken for all devices', async (_name, call) => {
    await expect(call(verifier)).rejects.toThrow(TypeError);
    expect(called).toEqual([]);
  });

  describe('lists', () => {
    const paths = (): unknown[] => called.map(([path]) => path);
    beforeEach(() => {
      service.other = ({ url }, response) => {
        called.push([url]);
        const cursor = new URL(url!, service.url).searchParams.get('cursor');
        const pages = { b: { users: [], next_cursor: 'c' }, c: { users: [{ user_id: '3' }] } };
        const first = { users: [{ user_id: '1' }, { user_id: '2' }], next_cursor: 'b' };
        response.end(JSON.stringify(cursor === null ? first : pages[cursor as 'b']));
      };
    });

    it('a page at once, and the entries of all pages, also after an empty one', async () => {
      const found = verifier.users.find({ q: 'a' });
      expect(paths()).toEqual([]); // nothing is loaded before
      expect(await found).toMatchObject({ next_cursor: 'b', users: [{ user_id: '1' }, { user_id: '2' }] });
      called = [];
      const ids: string[] = [];
      for await (const { user_id } of found) ids.push(user_id);
      expect(ids).toEqual(['1', '2', '3']);
      expect(paths()).toEqual(['/users?q=a', '/users?q=a&cursor=b', '/users?q=a&cursor=c']);
    });

    it('load no page that the loop does not reach', async () => {
      for await (const { user_id } of verifier.users.find()) if (user_id === '2') break;
      expect(paths()).toEqual(['/users']);
    });

    it('accept a large page, and reject an answer that is none', async () => {
      const users = Array.from({ length: 200 }, () => ({ claims: { text: 'x'.repeat(16_000) } }));
      service.other = (_, response) => response.end(JSON.stringify({ users }));
      expect((await verifier.users.find({ limit: 200 })).users).toHaveLength(200);
      service.other = (_, response) => response.end('{}');
      await expect(verifier.users.find()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    });
  });

  it.each([
    [404, '{"error":"not_found","error_description":"no such user"}', 404, 'not_found', 'no such user'],
    [
      401,
      '{"error":"invalid_token"}',
      500,
      'service_key_refused',
      expect.stringContaining('does not know it'),
    ],
    [403, '{"error":"insufficient_scope"}', 500, 'service_key_refused', expect.stringContaining('no right')],
    [429, '{"error":"slow_down"}', 503, 'temporarily_unavailable', expect.any(String)],
    [404, '<html>', 503, 'temporarily_unavailable', expect.any(String)],
    [200, 'null', 503, 'temporarily_unavailable', expect.any(String)],
    [302, '', 503, 'temporarily_unavailable', expect.any(String)],
  ])('answered with %i %s: status %i, %s', async (answered, body, status, code, description) => {
    service.other = (_, response) =>
      response.writeHead(answered, answered === 302 ? { Location: '/' } : {}).end(body);
    const error = await verifier.push({ userId: user, event: 'note' }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LatchkeyError);
    expect(error).toMatchObject({ status, code, description });
    expect(JSON.stringify([error, String(error)])).not.toContain(SERVICE_KEY);
  });

  it('a push is not repeated: it may have been done', async () => {
    let calls = 0;
    service.other = (_, response) => (calls++, response.destroy());
    await expect(verifier.push({ userId: user, event: 'note' })).rejects.toMatchObject({ status: 503 });
    expect(calls).toBe(1);
  });

  it.each([
    ['data that is no JSON', { data: 1n }],
    ['a key with a line break', { idempotencyKey: 'a\r\nX: y' }],
    ['a key that is no header', { idempotencyKey: '√' }],
  ])('%s: a mistake of the caller', async (_name, mistake) => {
    await expect(verifier.push({ userId: user, event: 'note', ...mistake })).rejects.toMatchObject({
      name: 'TypeError',
    });
    expect(called).toEqual([]);
  });

  it('need a service key', async () => {
    const without = createVerifier({ issuer: service.url });
    const events = without.audit.stream();
    for (const call of [
      () => without.push({ userId: user, event: 'note' }),
      () => without.users.find(),
      () => events.next(),
    ])
      await expect(call()).rejects.toThrow('needs a serviceKey');
  });
});
