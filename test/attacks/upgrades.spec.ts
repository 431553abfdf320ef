import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startServiceProcess } from '../support/service-process.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
const CONNECTIONS = 200;

/** Attacks with upgraded connections, which Node.js no longer limits, and with unread answers. */
describe('upgraded and pipelined connections', () => {
  let metricsPort: number;

  const database = use(() => createDatabase());
  beforeAll(async () => {
    metricsPort = await freePort();
  });
  const service = use(
    () => startServiceProcess({ DATABASE_URL: database.url, METRICS_PORT: String(metricsPort) }),
    (one) => one.end('SIGKILL'),
  );

  async function open(port = Number(new URL(service.url).port)): Promise<Socket> {
    const socket = connect(port, 'localhost');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }
  async function answerTo(sent: string, port?: number): Promise<string> {
    const socket = await open(port);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write(sent, 'latin1');
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

  /** A refresh with a token that never was, in several pieces: its answer shows that the body arrived. */
  const refresh = (upgrade: string, more: string, ...body: readonly string[]): readonly string[] => {
    const head = `POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${more}`;
    return [`${head}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${upgrade}\r\n\r\n`, ...body];
  };
  const LAST = 'GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  const JSON_BODY = '{"refresh_token":"never-issued"}';
  const CHUNKED = `${JSON_BODY.length.toString(16)}\r\n${JSON_BODY}\r\n0\r\n\r\n`;
  const LENGTH = `Content-Length: ${JSON_BODY.length}\r\n`;

  describe.each(['h2c', 'h2c, websocket', '\u00ff{};,'])(
    'an offer of %j is ignored (RFC 9110 §7.8)',
    (upgrade) => {
      it.each([
        ['with a length', refresh(upgrade, LENGTH, JSON_BODY)],
        ['in chunks', refresh(upgrade, 'Transfer-Encoding: chunked\r\n', CHUNKED)],
        ['in pieces', refresh(upgrade, LENGTH, ...JSON_BODY.split(''))],
        ['after 100 Continue', refresh(upgrade, `${LENGTH}Expect: 100-continue\r\n`, JSON_BODY)],
      ])('bodies arrive %s, at once and later, and the next request is answered', async (_name, parts) => {
        const together = await answerTo(parts.join('') + LAST);
        const apart = await open();
        const closed = once(apart, 'close');
        let text = '';
        apart.on('data', (chunk: Buffer) => (text += chunk.toString()));
        for (const part of [...parts, LAST]) {
          apart.write(part, 'latin1');
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
        await closed;
        for (const answer of [together, text]) {
          expect(answer).toMatch(/^(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 401 /);
          expect(answer).toContain('"error":"invalid_grant"');
          expect(answer).toMatch(/HTTP\/1\.1 200 OK\r\n[^]*\{"status":"ok"\}$/);
        }
      });
    },
  );

  it.each([
    ['GET', '/socket.io', 'websocket', 404],
    ['GET', '/socket.iox/', 'websocket', 404],
    ['DELETE', '/devices/1', 'h2c', 401],
    ['OPTIONS', '/push', 'h2c', 204],
    ['HEAD', '/health/live', 'h2c', 200],
  ])('%s %s with an offer of %s: %i', async (method, path, upgrade, status) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: ${upgrade}\r\n\r\n`;
    expect(await answerTo(head)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it('many offers on one connection are answered in order, and cost no listener each', async () => {
    const [offer] = refresh('h2c', LENGTH);
    const text = await answerTo(`${LIVE}${`${offer}${JSON_BODY}${LIVE}`.repeat(40)}${LAST}`);
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(['200', ...Array.from({ length: 40 }, () => ['401', '200']).flat(), '200']);
    expect(service.output()).not.toContain('MaxListenersExceededWarning');
  });

  it('a second request never begins within a body', async () => {
    const hidden = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
    const [head] = refresh('h2c', `Content-Length: ${hidden.length}\r\n`);
    const text = await answerTo(`${head}${hidden}${LAST}`);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(2);
  });

  it('an offer is ignored on the port for metrics, too', async () => {
    const head = `GET /metrics HTTP/1.1\r\nHost: a\r\n${UPGRADE}`;
    expect(await answerTo(head.replace('Connection: ', 'Connection: close, '), metricsPort)).toMatch(
      /^HTTP\/1\.1 200 OK/,
    );
  });

  it('requests sent at once with unread answers are limited', async () => {
    const many = 1000;
    const request = 'GET /demo/socket.io-client.js HTTP/1.1\r\nHost: a\r\n\r\n';
    const sockets = await Promise.all(Array.from({ length: 10 }, () => open()));
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
    expect(await isAlive()).toBe(true);
  });

  it('do not keep the service from stopping', async () => {
    const socket = await open();
    socket.write(LIVE);
    await once(socket, 'data');
    socket.write(`GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`);
    expect(await service.end('SIGTERM')).toBe(0);
    socket.destroy();
  });
});
