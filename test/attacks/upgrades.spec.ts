import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
const CONNECTIONS = 200;

/** Attacks with connections that Node.js no longer looks after, and with answers that nobody reads. */
describe('connections that nobody looks after', () => {
  let database: TestDatabase;
  let service: ServiceProcess;

  beforeAll(async () => {
    database = await createDatabase();
    service = await startServiceProcess({ DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await service?.end('SIGKILL');
    await database?.drop();
  });

  async function open(): Promise<Socket> {
    const socket = connect(Number(new URL(service.url).port), 'localhost');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }
  async function answerTo(sent: string): Promise<string> {
    const socket = await open();
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(sent);
    await once(socket, 'close');
    return text;
  }
  const isAlive = async (): Promise<boolean> => (await fetch(`${service.url}/health/live`)).ok;

  it.each([
    ['of another path', `GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`],
    ['of an endpoint', `GET /oauth2/token HTTP/1.1\r\nHost: a\r\n${UPGRADE}`],
    ['after another answer', `${LIVE}GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`],
    ['to another protocol, with a body', `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n${UPGRADE}`],
    ['of sockets', `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: a\r\n${UPGRADE}`],
  ])('an upgrade %s, and a reset: the process lives', async (_name, sent) => {
    for (const wait of [0, 5, 50]) {
      const socket = await open();
      socket.write(sent);
      await new Promise((resolve) => setTimeout(resolve, wait));
      socket.resetAndDestroy();
    }
    expect(await isAlive()).toBe(true);
    expect(service.child.exitCode).toBeNull();
  });

  it('leave no file descriptor behind', async () => {
    const directory = `/proc/${service.child.pid}/fd`;
    if (!existsSync(directory)) return; // not Linux
    const count = (): number => readdirSync(directory).length;
    const before = count();
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = await open();
      socket.write(LIVE);
      await once(socket, 'data');
      socket.end(`GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`);
      socket.resume();
    }
    await until(() => count() < before + CONNECTIONS / 4);
  });

  it('an offer of another protocol is ignored (RFC 9110 §7.8); with a body, which nobody can read, refused', async () => {
    const h2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
    const answer = await answerTo(`GET /health/live HTTP/1.1\r\nHost: a\r\n${h2c}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain('{"status":"ok"}');
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    const refused = await answerTo(`POST /oauth2/refresh HTTP/1.1\r\nContent-Length: 2\r\n${h2c}\r\n{}`);
    expect(refused).toMatch(/^HTTP\/1\.1 400 /);
    expect(refused).toContain('"error":"invalid_request"');
  });

  it('requests sent at once whose answers nobody reads are limited', async () => {
    const many = 1000;
    const request = 'GET /demo/socket.io-client.js HTTP/1.1\r\nHost: a\r\n\r\n';
    const sockets = await Promise.all(Array.from({ length: 10 }, open));
    for (const socket of sockets) {
      socket.pause();
      socket.write(request.repeat(many));
    }
    await Promise.all(
      sockets.map((socket) => {
        const closed = new Promise((resolve) => socket.once('close', resolve)); // a reset is as good
        socket.resume(); // a socket that does not read does not notice its end
        return closed;
      }),
    );
    const read = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    process.stdout.write(
      `pipelining: ${sockets.length * many * request.length} bytes sent, ${read} bytes answered\n`,
    );
    expect(await isAlive()).toBe(true);
  });

  it('a few requests at once are answered in order', async () => {
    const text = await answerTo(
      `${LIVE.repeat(10)}GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(text.split('HTTP/1.1 200 OK')).toHaveLength(11);
    expect(text.lastIndexOf('HTTP/1.1 404')).toBeGreaterThan(text.lastIndexOf('HTTP/1.1 200'));
  });

  it('keep nobody from stopping', async () => {
    const socket = await open();
    socket.write(LIVE);
    await once(socket, 'data');
    socket.write(`GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`);
    expect(await service.end('SIGTERM')).toBe(0);
    socket.destroy();
  });
});
