import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Sql } from '../../src/platform/database/sql.js';
import { Events } from '../../src/platform/events.js';
import { RateLimits } from '../../src/platform/http/rate-limit.js';
import { PushService } from '../../src/realtime/push/push.service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { Channel } from '../support/channel.js';
import { watchLateness, until } from '../support/waiting.js';
import type { SocketClient } from '../support/socket-client.js';

const POLLING = '/socket.io/?EIO=4&transport=polling';

describe('the handshake', () => {
  const channel = Channel.around({ CORS_ORIGINS: 'https://app.example' });

  it.each(['websocket', 'polling'])('takes auth.token over %s, and says who it is', async (transport) => {
    const device_id = randomUUID();
    const tokens = await channel.signIn(randomUUID(), { device_id });
    const client = channel.open({ token: tokens.access_token }, { transports: [transport] });
    const { exp, sid } = claimsOf(tokens.access_token);
    expect(await client.ready()).toEqual({
      user_id: tokens.user_id,
      session_id: sid,
      device_id,
      expires_at: new Date((exp as number) * 1000).toISOString(),
      offset: 1, // the device's own sign-in
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      recovered: true,
    });
    const { body } = await channel.push({ user_id: tokens.user_id, event: 'hello', data: [1] }).expect(202);
    expect((await client.next('hello')).meta?.id).toBe((body as { id: string }).id);
  });

  it('takes the Authorization header of a native client', async () => {
    const { access_token, user_id } = await channel.signIn();
    const client = channel.open({}, { extraHeaders: { Authorization: `Bearer ${access_token}` } });
    expect(await client.ready()).toMatchObject({ user_id, device_id: null, offset: 0 });
  });

  it.each<[string, (token: string) => [auth: object, options?: object]]>([
    ['no token', () => [{}]],
    ['a token that is not a string', (token) => [{ token: [token] }]],
    ['the token in the query', (token) => [{}, { query: { token, access_token: token } }]],
    ['a cut token', (token) => [{ token: token.slice(0, -1) }]],
  ])('refuses %s, and closes the transport within a second', async (_name, make) => {
    const { access_token } = await channel.signIn();
    const client = channel.open(...make(access_token));
    const { engine } = client.socket.io;
    const [began, lateness] = [performance.now(), watchLateness()];
    const closed = new Promise((resolve) => engine.once('close', resolve));
    const refusal = { error: 'invalid_token', error_description: expect.any(String) };
    expect(await client.refusal()).toEqual(refusal);
    await closed;
    expect(performance.now() - began).toBeLessThan(1000 + 10 * lateness());
  });

  it('closes a refused transport of long polling within a second, whether it is polled or not', async () => {
    const opened = await (await fetch(channel.url + POLLING)).text();
    const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
    const session = `${channel.url}${POLLING}&sid=${sid}`;
    const lateness = watchLateness();
    await fetch(session, { method: 'POST', body: '40{"token":"wrong"}' });
    await delay(1000); // a poll in the meantime would get the refusal
    await delay(10 * lateness());
    expect((await fetch(session)).status).toBe(400); // an unknown session by now
  });

  it('refuses an offset or id that is none', async () => {
    const { access_token: token } = await channel.signIn();
    const refusal = { error: 'invalid_request', error_description: expect.any(String) };
    for (const from of [
      { offset: -1 },
      { offset: '1' },
      { offset: 2 ** 60 },
      { offset: 1, id: 'x'.repeat(36) },
      { offset: 1, id: 7 },
    ])
      expect(await channel.open({ token, ...from }).refusal()).toEqual(refusal);
  });

  it.each([
    ['https://app.example', true],
    ['https://evil.example', false],
    ['null', false],
  ])('from origin %s: %s, over both transports', async (origin, allowed) => {
    const { access_token: token } = await channel.signIn();
    for (const transport of ['websocket', 'polling']) {
      const client = channel.open({ token }, { transports: [transport], extraHeaders: { Origin: origin } });
      if (allowed) await client.ready();
      else expect(await client.refusal()).toMatch(/websocket error|xhr poll error/);
    }
  });

  it('does not serve a client script', async () => {
    expect((await fetch(`${channel.url}/socket.io/socket.io.js`)).status).not.toBe(200);
  });

  it('batches the statements of sockets that come back together; each has its own result and history', async () => {
    const users: Tokens[] = [];
    for (let i = 0; i < 30; i++) users.push(await channel.signIn());
    const realtime = channel.service.app.get(PushService);
    for (const [i, { user_id }] of users.entries())
      for (let n = 0; n < i % 4; n++) await realtime.push(user_id, 'news', { n });
    await bearer(channel.url, users[7]!.access_token).post('/sign-out', {}).expect(204);
    const sql = channel.service.app.get(Sql);
    const query = sql.query.bind(sql);
    const asked = jest.spyOn(sql, 'query').mockImplementation(async (statement, values) => {
      await delay(100); // others arrive
      return query(statement, values);
    });
    const clients = users.map(({ access_token: token }, i) =>
      channel.open(i === 9 ? { token: `${token}x` } : { token, ...(i % 2 && { offset: 1 }) }),
    );
    const results = await Promise.all(
      clients.map((client) => client.ready().catch((error: Error & { data?: object }) => error.data)),
    );
    asked.mockRestore();
    for (const [i, result] of results.entries()) {
      const offset = i % 2 ? 1 : i % 4;
      const isRefused = i === 7 || i === 9;
      const ready = { user_id: users[i]!.user_id, offset, recovered: true };
      expect([i, result]).toMatchObject([i, isRefused ? { error: 'invalid_token' } : ready]);
      if (i % 4 === 3 && i !== 7) expect((await clients[i]!.next('news')).meta!.offset).toBe(2);
    }
    for (const statement of ['access-token', 'channel-state']) {
      const calls = asked.mock.calls.filter(([{ name }]) => name.startsWith(statement));
      expect(calls.length).toBeLessThan(users.length / 2);
    }
  });
});

const [LIMIT, BAD_TOKENS] = [5, 3];
const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
const HEADERS_OF_ALL = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * RATE_LIMIT and sockets (docs/realtime.md#limits): handshakes are refused with HTTP 429, and bad tokens
 * count as everywhere else.
 */
describe('limits of handshakes', () => {
  const channel = Channel.around({
    RATE_LIMIT: 'on',
    RATE_LIMIT_CONNECT: String(LIMIT),
    RATE_LIMIT_BAD_TOKEN: String(BAD_TOKENS),
    TRUST_PROXY: 'loopback',
    CORS_ORIGINS: 'https://app.example',
  });
  let good: { token: string };
  beforeAll(async () => {
    good = { token: (await channel.signIn()).access_token };
  });

  let addresses = 0;
  /** An address for which nothing has been counted yet. */
  const newAddress = (): string => `192.0.2.${++addresses}`;
  const open = (from: string, auth: object, ...transports: string[]): SocketClient =>
    channel.open(auth, { transports, extraHeaders: { 'X-Forwarded-For': from } });

  /** A handshake without any client library. */
  async function handshake(transport: string, from: string, more: object = {}) {
    const headers = { 'X-Forwarded-For': from, ...(transport === 'websocket' && UPGRADE), ...more };
    const url = `${channel.url}/socket.io/?EIO=4&transport=${transport}`;
    const call = httpRequest(url, { headers, agent: false }).end();
    const upgraded = once(call, 'upgrade');
    upgraded.catch(() => undefined);
    const [response, socket] = (await Promise.race([once(call, 'response'), upgraded])) as [
      IncomingMessage,
      Socket?,
    ];
    socket?.destroy();
    const { statusCode: status, headers: answered } = response;
    return { status, headers: answered, body: status === 429 ? await json(response) : undefined };
  }

  it.each([
    ['polling', 200],
    ['websocket', 101],
  ])('over %s: beyond the limit, HTTP 429 before a transport', async (transport, expected) => {
    const from = newAddress();
    const told: unknown[] = [];
    channel.service.app.get(Events).on('rate_limit.exceeded', (event) => told.push(event));
    for (let i = 0; i < LIMIT; i++) expect((await handshake(transport, from)).status).toBe(expected);
    for (let i = 0; i < 3; i++) {
      const { status, headers, body } = await handshake(transport, from, { Origin: 'https://app.example' });
      expect([status, body]).toEqual([429, { error: 'slow_down', error_description: expect.any(String) }]);
      expect(headers).toMatchObject({
        'retry-after': expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
        'content-type': 'application/json; charset=utf-8',
        ...HEADERS_OF_ALL,
      });
      if (transport === 'polling') {
        expect(headers['access-control-allow-origin']).toBe('https://app.example');
        expect(headers['access-control-expose-headers']).toContain('Retry-After');
      }
    }
    expect(told).toEqual([{ limit: 'connect', address: from }]);
    expect(await open(from, good, 'websocket').refusal()).toBe('websocket error');
    expect((await handshake(transport, newAddress())).status).toBe(expected);
  });

  it('every answer below /socket.io/ carries the headers of all answers', async () => {
    const from = newAddress();
    const answers = [
      await handshake('polling', from),
      await handshake('foo', from),
      await handshake('polling', from, { Origin: 'https://evil.example' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 403]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject(HEADERS_OF_ALL);
      expect(headers).not.toHaveProperty('x-powered-by');
    }
  });

  it('both transports share one count, and a /64 of IPv6 is one address', async () => {
    const from = (i: number) => `2001:db8:1:2::${i}`;
    for (let i = 1; i <= LIMIT; i++) await handshake(i % 2 ? 'polling' : 'websocket', from(i));
    expect((await handshake('polling', from(99))).status).toBe(429);
    expect((await handshake('websocket', from(98))).status).toBe(429);
    expect((await handshake('websocket', '2001:db8:1:3::1')).status).toBe(101);
  });

  it('polls, posts and the upgrade of an open connection do not count', async () => {
    const from = newAddress();
    for (let i = 0; i < LIMIT; i++) {
      const client = open(from, good, 'polling', ...(i % 2 ? ['websocket'] : []));
      await client.ready();
      for (let n = 0; n < 5; n++) await client.socket.emitWithAck('authenticate', good);
      if (i % 2) await until(() => client.socket.io.engine.transport.name === 'websocket');
    }
    expect((await handshake('polling', from)).status).toBe(429);
  });

  it.each(['websocket', 'polling'])(
    'bad tokens over %s are counted, and refuse no good one',
    async (transport) => {
      const from = newAddress();
      for (let i = 0; i <= BAD_TOKENS; i++) {
        const error = i < BAD_TOKENS ? 'invalid_token' : 'slow_down';
        expect(await open(from, { token: 'wrong' }, transport).refusal()).toMatchObject({ error });
      }
      await open(from, good, transport).ready();
      // One count for sockets and HTTP.
      const bad = bearer(channel.url, 'wrong');
      await bad.get('/me').set('X-Forwarded-For', from).expect(429);
      await bad.get('/me').set('X-Forwarded-For', newAddress()).expect(401);
    },
  );

  it('a client that hangs up while its handshake is validated does no harm', async () => {
    const steps = new EventEmitter();
    const asked = once(steps, 'asked');
    const count = jest.spyOn(channel.service.app.get(RateLimits), 'count').mockImplementation(async () => {
      steps.emit('asked');
      await once(steps, 'go on');
    });
    const { hostname, port } = new URL(channel.url);
    const socket = connectTcp(Number(port), hostname);
    const headers = Object.entries({ Host: hostname, ...UPGRADE }).map(([name, is]) => `${name}: ${is}\r\n`);
    socket.write(`GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n${headers.join('')}\r\n`);
    await asked;
    socket.resetAndDestroy();
    await once(socket, 'close');
    await fetch(`${channel.url}/health/live`); // the reset has arrived; it has not ended the process
    steps.emit('go on');
    count.mockRestore();
    await open(newAddress(), good, 'websocket').ready();
  });
});
