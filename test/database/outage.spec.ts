import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import request from 'supertest';
import { parseSettings } from '../../src/settings.js';
import { createLog } from '../../src/operations/log.js';
import { startService } from '../../src/start/start.js';
import { createDatabase } from '../support/database.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { use, useService } from '../support/use.js';

/** The limits grow by so many times the usual duration of these calls. */
const LENIENCY = 5;
const AWAY = { error: 'server_error', error_description: 'the database is unavailable' };

/** P10: an error within 2 s, and recovery without a restart. */
describe('a database outage', () => {
  const database = use(() => createDatabase());
  const proxy = use(
    () => TcpProxy.before(database.url),
    (one) => one.refuse(),
  );
  const { service } = useService(() => ({ DATABASE_URL: proxy.through(database.url) }));

  it.each([
    ['refuses connections', () => proxy.refuse()],
    ['hangs', async () => proxy.blackhole()],
  ])('when it %s', async (_name, begin) => {
    const { refresh_token, access_token } = await signIn(service.url);
    const [state, spare] = [await beginSignIn(service.url), await beginSignIn(service.url)];
    const calls = (code: string, from: string) => [
      request(service.url).get('/oauth2/authorize').query({ provider: 'stub' }),
      request(service.url).post('/oauth2/token').send({ code, state: from }),
      request(service.url).get('/me').set('Authorization', `Bearer ${access_token}`),
      ...Array.from({ length: 30 }, () =>
        request(service.url).post('/oauth2/refresh').send({ refresh_token }),
      ),
    ];
    // Usual duration of these calls, for a busy machine.
    const usual = await timed(() => Promise.all(calls('somebody', spare)));
    const allowance = LENIENCY * usual.milliseconds;
    const open = await SocketClient.connect(service.url, access_token);
    await begin();

    const outage = await timed(() => Promise.all(calls('c', state)));
    expect(outage.milliseconds).toBeLessThan(2000 + allowance);
    for (const { status, body, headers } of outage.result) {
      expect([status, body]).toEqual([500, AWAY]);
      expect(headers['retry-after']).toBe('1');
    }
    expect(await SocketClient.open(service.url, { token: access_token }).refusal()).toEqual(AWAY);
    expect(await open.socket.emitWithAck('authenticate', { token: access_token })).toEqual(AWAY);
    expect(service.log.filter((line) => line.includes('a token was not renewed'))).not.toEqual([]);
    open.close();
    await request(service.url).get('/health/ready').expect(503);
    await request(service.url).get('/health/live').expect(200);
    await request(service.url).get('/.well-known/jwks.json').expect(200);

    await proxy.restore();
    const recovery = await timed(() => firstSuccess(refresh_token));
    expect(recovery.milliseconds).toBeLessThan(3000 + allowance);
    await request(service.url).get('/health/ready').expect(200);
    await signIn(service.url);
  });

  async function timed<Result>(
    work: () => Promise<Result>,
  ): Promise<{ result: Result; milliseconds: number }> {
    const began = performance.now();
    const result = await work();
    return { result, milliseconds: performance.now() - began };
  }

  async function firstSuccess(refresh_token: string): Promise<void> {
    for (;;) {
      const { status } = await request(service.url).post('/oauth2/refresh').send({ refresh_token });
      if (status === 200) return;
    }
  }
});

it('a retried start makes the modules once', async () => {
  const database = await createDatabase();
  const stopping = new AbortController();
  let attempts = 0;
  const closing = createServer((socket) => {
    socket.destroy();
    if (++attempts === 3) stopping.abort();
  }).listen(0, '127.0.0.1');
  await once(closing, 'listening');
  const { port } = closing.address() as AddressInfo;
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  const settings = parseSettings({
    SECRET_KEY: '5e'.repeat(32),
    DATABASE_URL: `postgres://latchkey@127.0.0.1:${port}/latchkey`,
    DATABASE_DIRECT_URL: database.url, // the migrations succeed
  });
  await expect(startService(settings, log, stopping.signal)).rejects.toThrow(/abort/);
  expect(lines.join('')).toMatch(/waiting for the database/);
  expect(lines.join('')).not.toMatch(/already registered/);
  closing.close();
  await database.close();
});
