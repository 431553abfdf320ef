import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { startTestService, type TestService } from '../support/service.js';

const SOCKETS = 40; // of each kind
const DRIP_EVERY_MS = 50;
const LIMITS = { headersTimeout: 300, requestTimeout: 600 }; // in place of 10 s and 30 s
const HEAD = 'POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

/** Requests that never end: each holds a socket, and costs the attacker only a byte now and then (issue 9, 11). */
describe('slow requests', () => {
  let service: TestService;
  let server: Server;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    service = await startTestService();
    server = service.app.getHttpServer();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await service?.close();
  });

  it('have 10 s for the head and 30 s for all of it', () => {
    const { headersTimeout, requestTimeout } = server;
    expect({ headersTimeout, requestTimeout }).toEqual({ headersTimeout: 10_000, requestTimeout: 30_000 });
  });

  it.each([
    ['that send nothing', '', ''],
    ['whose head never ends', 'GET /health/live HTTP/1.1\r\nX: ', 'x'],
    ['whose body never ends', `${HEAD}Content-Length: 60000\r\n\r\n{"a":"`, 'x'],
    ['whose chunks never end', `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'],
    [
      'whose body nobody asked for',
      HEAD.replace('oauth2/refresh', 'nothing') + 'Content-Length: 60000\r\n\r\n',
      'x',
    ],
  ])(
    '%s are ended soon after their time, though the other side never hangs up',
    async (name, begin, drip) => {
      Object.assign(server, LIMITS);
      const begun = performance.now();
      let bytes = 0;
      const send = (socket: Socket, text: string): void => {
        if (text === '' || !socket.writable) return;
        socket.write(text);
        bytes += text.length;
      };
      const mine = Array.from({ length: SOCKETS }, () => {
        const options = { port: service.settings.port, host: '127.0.0.1', allowHalfOpen: true };
        const socket = connect(options, () => send(socket, begin));
        return socket.on('error', () => undefined).resume();
      });
      sockets.push(...mine);
      const dripping = setInterval(() => mine.forEach((socket) => send(socket, drip)), DRIP_EVERY_MS);
      try {
        await Promise.all(mine.map((socket) => once(socket, 'connect')));
        // Node by itself checks only every 30 s: a third of that is enough for any machine.
        while ((await connections()) > 0 && performance.now() - begun < 10_000) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        expect(await connections()).toBe(0);
      } finally {
        clearInterval(dripping);
      }
      const held = (performance.now() - begun).toFixed(0);
      process.stdout.write(`requests ${name}: ${SOCKETS} sockets, ${bytes} bytes sent; held ${held} ms\n`);
    },
  );

  it('a connection that was opened ahead and not used is ended without an answer, which its first request might take for its own', async () => {
    Object.assign(server, LIMITS);
    const socket = connect({ port: service.settings.port, host: '127.0.0.1' });
    sockets.push(socket);
    let heard = '';
    socket.setEncoding('latin1').on('data', (text: string) => (heard += text));
    await once(socket, 'close');
    expect(heard).toBe('');
  });

  function connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }
});
