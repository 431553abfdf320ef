import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

const BAD_TOKENS = 20;
const TOKENS = 30;
const JSON_TYPE = 'application/json';

/**
 * A stranger sent 300 bytes of gzip, which became 64 KiB of JSON before any limit. Now no body is read before the limit and the
 * authentication of its route, and none of a stranger is unpacked.
 */
describe('a body that should not be read', () => {
  const { service } = useService({
    SERVICE_KEYS: SERVICE_KEY,
    TRUST_PROXY: 'loopback',
    RATE_LIMIT: 'on',
    RATE_LIMIT_BAD_TOKEN: String(BAD_TOKENS),
    RATE_LIMIT_TOKEN: String(TOKENS),
    RATE_LIMIT_REFRESH: String(TOKENS),
  });
  const mine = prepare(() => signIn(service.url));

  let addresses = 0;
  const newAddress = (): string => `192.0.2.${++addresses}`;

  /** Sends a head that promises a body, and no body. @returns status of the answer */
  async function promise(path: string, headers: Record<string, string>, method = 'POST'): Promise<number> {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    const all = { Host: 'a', 'Content-Type': JSON_TYPE, 'Content-Length': '1000', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString())![1]);
  }
  const post = (
    path: string,
    from: string,
    headers: Record<string, string> = {},
    body: string | Buffer = '{',
  ) =>
    request(service.url)
      .post(path)
      .set({ 'Content-Type': JSON_TYPE, 'X-Forwarded-For': from, ...headers })
      .serialize((sent: unknown) => sent as string)
      .send(body);

  it.each<[method: string, path: string]>([
    ['POST', '/sign-out'],
    ['POST', '/push'],
    ['POST', '/demo/push'],
    ['POST', '/oauth2/introspect'],
    ['POST', '/users/sign-out'],
    ['PUT', `/users/${'5e'.repeat(4)}-5e5e-5e5e-5e5e-${'5e'.repeat(6)}/claims`],
    ['PATCH', `/devices/${'5e'.repeat(4)}-5e5e-5e5e-5e5e-${'5e'.repeat(6)}`],
    ['POST', '/admin/providers/stub/test'],
  ])('%s %s: it is refused for its credential', async (method, path) => {
    expect(await promise(path, {}, method)).toBe(401);
    expect(await promise(path, { Authorization: 'Bearer made.up' }, method)).toBe(401);
  });

  it.each(['/oauth2/token', '/oauth2/refresh', '/oauth2/callback-error', '/providers/stub/callback'])(
    '%s: it is refused beyond the limit of its address',
    async (path) => {
      const address = newAddress();
      const limits = path === '/oauth2/token' ? 2 : 1; // it reads the body if the limit of one of its grants has room
      const bodies = ['{}', '{"grant_type":"refresh_token"}'];
      for (const body of bodies.slice(0, limits))
        for (let i = 0; i <= TOKENS; i++) await post(path, address, {}, body);
      expect(await promise(path, { 'X-Forwarded-For': address })).toBe(429);
      const { status } = await post(path, newAddress(), {}, '{}');
      expect([200, 204, 303, 400, 401, 404, 405]).toContain(status); // another address
    },
  );

  const PUBLIC = [
    '/oauth2/token',
    '/oauth2/refresh',
    '/oauth2/revoke',
    '/oauth2/callback-error',
    '/providers/mock/oauth2/token/exchange',
  ];
  const json = JSON.stringify({ token: 'x', refresh_token: 'x', state: 'x', error: 'x' });
  const bomb = `{"a":${'['.repeat(65_000)}`;

  it.each(PUBLIC)('%s: it is not unpacked', async (path) => {
    for (const encoding of ['gzip', 'deflate', 'br', 'x', 'identity, gzip']) {
      const packed = encoding === 'gzip' ? gzipSync(bomb) : Buffer.from(json);
      const answer = await post(path, newAddress(), { 'Content-Encoding': encoding }, packed);
      expect([answer.status, answer.body]).toMatchObject([415, { error: 'unsupported_media_type' }]);
    }
    const plain = await post(path, newAddress(), { 'Content-Encoding': 'identity' }, json);
    expect(plain.status).not.toBe(415);
  });

  it('POST /push: it is unpacked for the backend, up to 64 KiB', async () => {
    const push = (data: unknown) =>
      post(
        '/push',
        newAddress(),
        { 'Content-Encoding': 'gzip', Authorization: `Bearer ${SERVICE_KEY}` },
        gzipSync(JSON.stringify({ user_id: mine.user_id, event: 'x', data })),
      );
    expect((await push('x'.repeat(60_000))).status).toBe(202);
    expect((await push('x'.repeat(70_000))).status).toBe(413);
  });

  it.each(['/oauth2/refresh', '/oauth2/revoke', '/providers/mock/oauth2/token/exchange'])(
    '%s: each that cannot be read counts for its address',
    async (path) => {
      const address = newAddress();
      const kinds: [Record<string, string>, string | Buffer][] = [
        [{}, '{"a":'],
        [{}, bomb.slice(0, 20_000)],
        [{}, `[${Array(300).fill(1).join()}]`],
        [{}, 'x'.repeat(30_000)],
        [{ 'Content-Encoding': 'gzip' }, gzipSync(json)],
        [{ 'Content-Type': 'text/plain' }, 'x'],
      ];
      const seen = [];
      for (let i = 0; i <= BAD_TOKENS; i++) seen.push((await post(path, address, ...kinds[i % 6]!)).status);
      expect(new Set(seen.slice(0, BAD_TOKENS))).toEqual(new Set([400, 413, 415]));
      expect(seen.at(-1)).toBe(429);
      expect((await post(path, newAddress(), ...kinds[0]!)).status).toBe(400);
      // Valid tokens of that address are good.
      const me = await bearer(service.url, mine.access_token).get('/me').set('X-Forwarded-For', address);
      expect(me.status).toBe(200);
    },
  );
});
