import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import type { Express } from 'express';
import { Events } from '../../src/events.js';
import { RateLimits } from '../../src/http/rate-limit.js';
import { bearer } from '../support/bearer.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

const LIMIT = 5;
const BAD_TOKENS = 3;
const UPGRADE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

const ANSWER = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body?: unknown;
}

/** RATE_LIMIT and sockets (contract §2): handshakes are refused with HTTP 429, and bad tokens count as everywhere else. */
describe('limits of sockets', () => {
  let provider: StubProvider;
  let service: TestService;
  let tokens: Tokens;
  const clients: SocketClient[] = [];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({
      ...provider.env(),
      RATE_LIMIT: 'on',
      RATE_LIMIT_CONNECT: String(LIMIT),
      RATE_LIMIT_BAD_TOKEN: String(BAD_TOKENS),
      TRUST_PROXY: 'loopback',
      CORS_ORIGINS: 'https://app.example',
    });
    tokens = await signIn(service.url);
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  let addresses = 0;
  /** An address for which nothing has been counted yet. */
  const newAddress = (): string => `192.0.2.${++addresses}`;

  function open(from: string, auth: object, transport = 'websocket'): SocketClient {
    const options = { transports: [transport], extraHeaders: { 'X-Forwarded-For': from } };
    const client = SocketClient.open(service.url, auth, options);
    clients.push(client);
    return client;
  }
  const good = () => ({ token: tokens.access_token });

  /** A handshake without any client library. */
  async function handshake(
    transport: 'polling' | 'websocket',
    from: string,
    more: object = {},
  ): Promise<Answer> {
    const headers = { 'X-Forwarded-For': from, ...(transport === 'websocket' && UPGRADE), ...more };
    const call = httpRequest(`${service.url}/socket.io/?EIO=4&transport=${transport}`, {
      headers,
      agent: false,
    });
    call.end();
    const upgraded = once(call, 'upgrade');
    upgraded.catch(() => undefined);
    const [response, socket] = (await Promise.race([once(call, 'response'), upgraded])) as [
      IncomingMessage,
      Socket?,
    ];
    if (socket) socket.destroy();
    const { statusCode: status = 0, headers: answered } = response;
    return { status, headers: answered, body: status === 429 ? await json(response) : undefined };
  }

  it.each(['polling', 'websocket'] as const)(
    'handshakes over %s: beyond the limit, HTTP 429 before a transport',
    async (transport) => {
      const from = newAddress();
      const told: unknown[] = [];
      const listen = (event: unknown): void => void told.push(event);
      service.app.get(Events).on('rate_limit.exceeded', listen);
      const expected = transport === 'polling' ? 200 : 101;
      for (let i = 0; i < LIMIT; i++) expect((await handshake(transport, from)).status).toBe(expected);
      for (let i = 0; i < 3; i++) {
        const { status, headers, body } = await handshake(transport, from, { Origin: 'https://app.example' });
        expect([status, body]).toEqual([429, { error: 'slow_down', error_description: expect.any(String) }]);
        expect(headers).toMatchObject({
          'retry-after': expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
          'content-type': 'application/json; charset=utf-8',
          ...ANSWER,
        });
        if (transport === 'polling') {
          expect(headers['access-control-allow-origin']).toBe('https://app.example');
          expect(headers['access-control-expose-headers']).toContain('Retry-After');
        }
      }
      service.app.get(Events).off('rate_limit.exceeded', listen);
      expect(told).toEqual([{ limit: 'connect', address: from }]);
      expect(await open(from, good()).refusal()).toBe('websocket error');
      expect((await handshake(transport, newAddress())).status).toBe(expected);
    },
  );

  it('every answer below /socket.io/ carries the headers of all answers (contract §3)', async () => {
    const from = newAddress();
    const answers = [
      await handshake('polling', from),
      await handshake('foo' as 'polling', from),
      await handshake('polling', from, { Origin: 'https://evil.example' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 403]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject(ANSWER);
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

  it.each(['polling', 'websocket'] as const)(
    'the address of a handshake over %s is read without what the adapter gives to requests',
    async (transport) => {
      const { request }: Express = service.app.getHttpAdapter().getInstance();
      const ip = Object.getOwnPropertyDescriptor(request, 'ip')!;
      Object.defineProperty(request, 'ip', { ...ip, get: () => '203.0.113.1' });
      const from = newAddress();
      const told: unknown[] = [];
      const listen = (event: unknown): void => void told.push(event);
      service.app.get(Events).on('rate_limit.exceeded', listen);
      try {
        for (let i = 0; i < LIMIT; i++) await open(from, { token: 'wrong' }, transport).refusal();
        expect((await handshake(transport, from)).status).toBe(429);
        expect(told).toEqual([
          { limit: 'bad_token', address: from },
          { limit: 'connect', address: from },
        ]);
      } finally {
        service.app.get(Events).off('rate_limit.exceeded', listen);
        Object.defineProperty(request, 'ip', ip);
      }
    },
  );

  it('polls, posts and the upgrade of an open connection do not count as handshakes', async () => {
    const from = newAddress();
    const options = { transports: ['polling', 'websocket'], extraHeaders: { 'X-Forwarded-For': from } };
    for (let i = 0; i < LIMIT; i++) {
      const client = SocketClient.open(
        service.url,
        good(),
        i % 2 ? options : { ...options, transports: ['polling'] },
      );
      clients.push(client);
      await client.ready();
      for (let n = 0; n < 5; n++) await client.socket.emitWithAck('authenticate', good());
      if (i % 2)
        while (client.socket.io.engine.transport.name !== 'websocket')
          await new Promise((r) => setTimeout(r, 10));
    }
    expect((await handshake('polling', from)).status).toBe(429);
  });

  it.each(['websocket', 'polling'])(
    'bad tokens over %s are counted, and refuse no good one',
    async (transport) => {
      const from = newAddress();
      const bad = async () =>
        (await open(from, { token: 'wrong' }, transport).refusal()) as { error: string };
      for (let i = 0; i < BAD_TOKENS; i++) expect((await bad()).error).toBe('invalid_token');
      expect((await bad()).error).toBe('slow_down');
      await open(from, good(), transport).ready();
      // One count for sockets and HTTP.
      const me = bearer(service.url, 'wrong').get('/me').set('X-Forwarded-For', from);
      expect((await me).status).toBe(429);
      await bearer(service.url, 'wrong').get('/me').set('X-Forwarded-For', newAddress()).expect(401);
    },
  );

  it('a client that hangs up while its handshake is judged does no harm', async () => {
    let judging = (): void => undefined;
    let goOn = (): void => undefined;
    const asked = new Promise<void>((resolve) => (judging = resolve));
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const count = jest.spyOn(service.app.get(RateLimits), 'count').mockImplementation(async () => {
      judging();
      await held;
    });
    try {
      const { hostname, port } = new URL(service.url);
      const socket = connectTcp(Number(port), hostname);
      const headers = Object.entries({ Host: hostname, ...UPGRADE }).map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      socket.write(`GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n${headers.join('')}\r\n`);
      await asked;
      socket.resetAndDestroy();
      await once(socket, 'close');
      await fetch(`${service.url}/health/live`); // the reset has arrived; it has not ended the process
      goOn();
    } finally {
      count.mockRestore();
    }
    await open(newAddress(), good()).ready();
  });

  it('off, handshakes are not counted', async () => {
    const off = await startTestService({ ...provider.env(), RATE_LIMIT_CONNECT: '1' });
    try {
      const own = await signIn(off.url, randomUUID());
      for (let i = 0; i < 3; i++) (await SocketClient.connect(off.url, own.access_token)).close();
    } finally {
      await off.close();
    }
  });
});
