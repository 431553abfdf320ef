import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import request from 'supertest';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { prepare, useService } from '../support/use.js';

/** In place of 10 s, 30 s, and half a second between two looks. */
const LIMITS = { headersTimeout: 300, requestTimeout: 600 };
const SLOW = 40; // sockets of each kind
const DRIP_EVERY_MS = 50;

/** The bytes after a request cannot be read: what is said then must be no answer to another request. Slow requests must end. */
describe('requests that break off, never end, or are followed by what is none', () => {
  const sockets: Socket[] = [];

  const { service } = useService({ SERVICE_KEYS: SERVICE_KEY, TRUST_PROXY: '1' });
  const server = prepare(() => service.app.getHttpServer());
  beforeAll(() => {
    const { headersTimeout, requestTimeout } = server;
    expect({ headersTimeout, requestTimeout }).toEqual({ headersTimeout: 10_000, requestTimeout: 30_000 });
    Object.assign(server, LIMITS);
  });
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

  /** A connection, and all that has come over it. */
  async function open(): Promise<{ socket: Socket; heard: () => string }> {
    const socket = connect({ port: service.settings.port, host: '127.0.0.1' });
    sockets.push(socket);
    let heard = '';
    socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
    await once(socket, 'connect');
    return { socket, heard: () => heard };
  }

  const head = (line: string, ...headers: string[]): string =>
    [line + ' HTTP/1.1', 'Host: a', ...headers, '', ''].join('\r\n');
  const withKey = (line: string, ...headers: string[]): string =>
    head(line, `Authorization: Bearer ${SERVICE_KEY}`, ...headers);
  const statuses = (heard: string): string[] =>
    [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code!);

  const post = (path: string, body: object, ...headers: string[]): string => {
    const json = JSON.stringify(body);
    return (
      withKey(
        `POST ${path}`,
        'Content-Type: application/json',
        `Content-Length: ${json.length}`,
        ...headers,
      ) + json
    );
  };

  it('a push that is followed by garbage is answered before that', async () => {
    const { user_id } = await signIn(service.url);
    const { socket, heard } = await open();
    socket.write(`${post('/push', { user_id, event: 'note' })}\0`);
    await once(socket, 'close');
    expect(statuses(heard())).toEqual(['202', '400']);
    const stored = `SELECT id FROM channel_events WHERE user_id = $1 AND event = 'note'`;
    expect(await query(service.databaseUrl, stored, [user_id])).toHaveLength(1);
  });

  it('all that was asked before is answered first, in its order', async () => {
    const { refresh_token } = await signIn(service.url);
    const slow = post('/oauth2/refresh', { refresh_token });
    for (const [after, expected] of [
      [head('GET /nothing') + '\0', ['200', '404', '400']],
      [slow.slice(0, -3), ['200', '400']],
      [head('POST /oauth2/refresh', 'Transfer-Encoding: chunked') + 'x', ['200', '400']],
    ] as const) {
      const { socket, heard } = await open();
      socket.write(slow + after);
      await once(socket, 'close');
      expect(statuses(heard())).toEqual(expected);
    }
  });

  it('nothing is put into a stream whose reader sends garbage: it ends', async () => {
    const { socket, heard } = await open();
    socket.write(withKey('GET /sessions/ended'));
    await until(() => heard().includes('\r\n\r\n'));
    socket.write('\0');
    await once(socket, 'close');
    expect(statuses(heard())).toEqual(['200']);
  });

  it('nor is the answer to a request behind it that offers another protocol: it waits for the end of the stream', async () => {
    const { socket, heard } = await open();
    socket.write(withKey('GET /sessions/ended'));
    await until(() => heard().includes('event: ready'));
    socket.write(head('POST /nothing', 'Connection: Upgrade', 'Upgrade: h2c', 'Content-Length: 0'));
    const events = (): number => heard().split('\nid: ').length;
    const before = events();
    await until(() => events() > before + 2); // the stream stays open
    expect(statuses(heard())).toEqual(['200']);
    socket.destroy();
  });

  it.each([1000, 12_000])('%i empty lines of a head hide no other line', async (lines) => {
    const { socket } = await open();
    const empty = Array.from({ length: lines }, () => 'a:');
    const path = `/${lines}-empty-lines`;
    socket.write(head(`GET ${path}`, ...empty, 'X-Forwarded-For: 192.0.2.1', 'Connection: close'));
    await once(socket, 'close');
    const logged = () => service.log.find((line) => line.includes(path));
    await until(() => logged() !== undefined);
    expect(logged()).toContain('"address":"192.0.2.1"');
  });

  it('a body that never ends is not answered twice', async () => {
    const { socket, heard } = await open();
    socket.write(head('POST /nothing', 'Content-Length: 60000') + 'x');
    await once(socket, 'close');
    expect(statuses(heard())).toEqual(['404']);
  });

  it.each([
    [
      'a body that breaks off',
      head('POST /oauth2/refresh', 'Content-Type: application/json', 'Content-Length: 9'),
      ['400'],
    ],
    ['a head that breaks off, after an answer', head('GET /health/live') + 'GET', ['200', '400']],
  ])('%s is told so', async (_name, bytes, expected) => {
    const { socket, heard } = await open();
    socket.write(bytes);
    await once(socket, 'close');
    expect(statuses(heard())).toEqual(expected);
  });

  const begin = (line: string, ...headers: string[]): string => head(line, ...headers).slice(0, -4);
  const BODY = ['Content-Type: application/json', 'Content-Length: 60000'];
  it.each([
    ['that send nothing', '', ''],
    ['whose head never ends', begin('GET /health/live', 'X: '), 'x'],
    ['whose body never ends', head('POST /oauth2/refresh', ...BODY) + '{"a":"', 'x'],
    [
      'whose chunks never end',
      head('POST /oauth2/refresh', BODY[0]!, 'Transfer-Encoding: chunked'),
      '1\r\nx\r\n',
    ],
    ['whose body nobody asked for', head('POST /nothing', ...BODY), 'x'],
  ])(
    'requests %s are ended soon after their time, though the other side never hangs up',
    async (_name, first, drip) => {
      const mine = Array.from({ length: SLOW }, () => {
        const options = { port: service.settings.port, host: '127.0.0.1', allowHalfOpen: true };
        const socket = connect(options, () => first !== '' && socket.write(first));
        return socket.on('error', () => undefined).resume();
      });
      sockets.push(...mine);
      await Promise.all(mine.map((socket) => once(socket, 'connect')));
      const dripping = setInterval(() => {
        if (drip !== '') for (const socket of mine) if (socket.writable) socket.write(drip);
      }, DRIP_EVERY_MS);
      try {
        const began = performance.now();
        await until(async () => (await connections()) === 0);
        expect(performance.now() - began).toBeLessThan(10_000); // Node.js by itself looks every 30 s
      } finally {
        clearInterval(dripping);
      }
    },
  );

  function connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  it('a connection that was opened ahead and not used is ended without an answer, which its first request might take for its own', async () => {
    const { socket, heard } = await open();
    await once(socket, 'close');
    expect(heard()).toBe('');
  });

  it('a connection that was opened ahead does not hold up the end of the service', async () => {
    const brief = await startTestService({ DATABASE_URL: service.databaseUrl });
    const socket = connect({ port: brief.settings.port, host: '127.0.0.1' });
    sockets.push(socket);
    await once(brief.app.getHttpServer(), 'connection');
    const began = performance.now();
    await brief.close();
    expect(performance.now() - began).toBeLessThan(8000); // requests under way would have ten seconds
  });

  it('the first request of a connection that was opened ahead is answered, also if the service stood still when it came', async () => {
    const { socket, heard } = await open();
    await request(service.url).get('/health/live').expect(200); // it has been accepted
    socket.write(head('GET /health/live', 'Connection: close'));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500); // beyond the limit, and the next look
    await once(socket, 'close');
    expect(statuses(heard())).toEqual(['200']);
  });
});
