import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { createDatabase } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startServiceProcess } from '../support/service-process.js';
import { insertSessions } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

/** The start needs more than half of it: Node.js reads modules in parallel. */
const LIMIT = 512;
const CONNECTIONS = 438;
const SOCKETS = 422;
const IDLE = 100;
const UPGRADE =
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

/** Connections of clients must not use up the file descriptors of requests. Windows has no such limit. */
needs({ Unix: process.platform !== 'win32' }).describe('too few file descriptors', () => {
  let refresh_token: string;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const clients: Client[] = [];
  afterAll(() => {
    agent.destroy();
    clients.forEach(({ socket }) => socket.destroy());
  });

  const database = use(() => createDatabase());
  beforeAll(async () => {
    [refresh_token] = (await insertSessions(database.url, 1)) as [string];
  });
  const service = use(
    () =>
      startServiceProcess(
        {
          NODE_ENV: 'production',
          DATABASE_URL: database.url,
          REDIRECT_URIS: 'https://app.example/callback',
          TRUST_PROXY: 'false',
          RATE_LIMIT: 'off',
        },
        undefined,
        LIMIT,
      ),
    (one) => one.end('SIGKILL'),
  );

  interface Client {
    readonly socket: Socket;
    /** The status of the answer, `closed` without one. */
    readonly answer: Promise<string>;
  }

  function open(says: string): Client {
    const socket = connect(Number(new URL(service.url).port), 'localhost');
    socket.on('error', () => undefined);
    socket.write(says);
    const answer = new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString('latin1')));
      socket.once('close', () => resolve('closed'));
    });
    const client = { socket, answer };
    clients.push(client);
    return client;
  }

  async function refresh(): Promise<number> {
    const headers = { 'Content-Type': 'application/json' };
    const call = request(`${service.url}/oauth2/refresh`, { method: 'POST', agent, headers });
    call.end(JSON.stringify({ refresh_token }));
    const [response] = (await once(call, 'response')) as [
      Parameters<typeof json>[0] & { statusCode: number },
    ];
    await json(response);
    return response.statusCode;
  }

  const linesOf = (text: string): string[] =>
    service
      .output()
      .split('\n')
      .filter((line) => line.includes(text));

  it('warns at the start, reserves some for requests, warns once, and recovers', async () => {
    expect(linesOf('may open 512 files, which allows for 422 sockets')).toHaveLength(1);
    expect(await refresh()).toBe(200);

    // Sockets are refused before requests are.
    const statusOf = async (): Promise<string> => (await open(UPGRADE).answer).slice(0, 12);
    // One connection is for refreshes. Concurrent, since a socket without a token is closed after 10 s.
    const first = await Promise.all(Array.from({ length: SOCKETS - 1 }, statusOf));
    expect(new Set(first)).toEqual(new Set(['HTTP/1.1 101']));
    for (let i = 0; i < 3; i++) expect(await statusOf()).toBe('HTTP/1.1 429');
    expect(await clients.at(-1)!.answer).toMatch(/\r\nRetry-After: 5\r\n/i);
    const live = open('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await live.answer).toMatch(/^HTTP\/1.1 200/);

    // Further connections are closed; the open ones keep working.
    const idle = Array.from({ length: IDLE }, () => open(''));
    let dropped = 0; // without an answer, unlike one that took too long to ask
    for (const { answer } of idle) void answer.then((text) => (dropped += Number(text === 'closed')));
    await until(() => dropped > IDLE - (CONNECTIONS - SOCKETS));
    expect(await refresh()).toBe(200);
    expect(
      linesOf('File descriptors run out, sockets are refused: the process may open 512 files'),
    ).toHaveLength(1);
    expect(linesOf('File descriptors run out')).toHaveLength(1); // once a minute

    clients.splice(0).forEach(({ socket }) => socket.destroy());
    await until(async () => (await open(UPGRADE).answer).startsWith('HTTP/1.1 101'));
    expect(await refresh()).toBe(200);
  });
});
