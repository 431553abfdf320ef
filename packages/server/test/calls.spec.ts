import { randomUUID } from 'node:crypto';
import { createVerifier, LatchkeyError, type Verifier } from '../src/index.js';
import { FakeService, SERVICE_KEY } from './support/fake-service.js';

const FETCHED = { 'content-type': 'application/json', authorization: `Bearer ${SERVICE_KEY}` };

describe('calls of the service', () => {
  let service: FakeService;
  let verifier: Verifier;
  let called: unknown[][];

  beforeEach(async () => {
    service = await FakeService.start();
    called = [];
    const onWarning = (): void => undefined;
    verifier = createVerifier({ issuer: service.url, serviceKey: SERVICE_KEY, onWarning });
    service.other = service.introspect = ({ method, url, headers }, response, body) => {
      called.push([`${method} ${url}`, body ? JSON.parse(body) : undefined, headers['idempotency-key']]);
      expect(headers).toMatchObject(FETCHED);
      response.writeHead(url === '/push' ? 202 : 200).end('{"id":"i","offset":1,"online":true}');
    };
  });
  afterEach(async () => {
    verifier.close();
    await service.close();
  });

  const [user, device] = [randomUUID(), randomUUID()];

  it.each<[string, (by: Verifier) => Promise<unknown>, unknown[]]>([
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
      'signOutUser of one device',
      (by) => by.signOutUser({ userId: user, deviceId: device }),
      [`POST /users/${user}/sign-out`, { device_id: device }, undefined],
    ],
    [
      'signOutUser by the provider’s id',
      (by) => by.signOutUser({ provider: 'mock', providerUserId: 'a/b' }),
      ['POST /users/sign-out', { provider: 'mock', provider_user_id: 'a/b' }, undefined],
    ],
    [
      'users.setClaims',
      (by) => by.users.setClaims(user, { roles: ['admin'] }),
      [`PUT /users/${user}/claims`, { claims: { roles: ['admin'] } }, undefined],
    ],
    ['users.claims', (by) => by.users.claims(user), [`GET /users/${user}/claims`, undefined, undefined]],
    [
      'an id that is none stays inside the path',
      (by) => by.signOutUser({ userId: '../push?x' }),
      ['POST /users/..%2Fpush%3Fx/sign-out', {}, undefined],
    ],
  ])('%s', async (_name, call, expected) => {
    await call(verifier);
    expect(called).toEqual([expected]);
  });

  it('a device that is undefined is not taken for all of them', async () => {
    const target = { userId: user, deviceId: undefined as unknown as string };
    await expect(verifier.signOutUser(target)).rejects.toThrow(TypeError);
    expect(called).toEqual([]);
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
    await expect(without.push({ userId: user, event: 'note' })).rejects.toThrow('needs a serviceKey');
  });
});
