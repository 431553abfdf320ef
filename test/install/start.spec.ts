import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { parseSettings } from '../../src/settings.js';
import { freePort } from '../support/free-port.js';
import { createLog } from '../../src/operations/log.js';
import { startService } from '../../src/start/start.js';
import type { Application as Service } from '../../src/start/application.js';
import { createDatabase, query } from '../support/database.js';
import { spawnService, type ServiceChild } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

/**
 * The compiled service as a process: the start waits for the database, and ends at once after a signal
 * (docs/production.md#what-the-start-refuses).
 */
describe('the start', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let service: ServiceChild | undefined;
  let proxy: TcpProxy;

  beforeEach(async () => {
    database = await createDatabase();
    proxy = await TcpProxy.before(database.url);
  });
  afterEach(async () => {
    await service?.end('SIGKILL');
    await proxy.refuse();
    await database.close();
  });

  function behindProxy(which = proxy): string {
    const url = new URL(database.url);
    url.port = String(which.port);
    return url.href;
  }

  async function readOnly(setting: 'on' | 'off'): Promise<void> {
    const name = new URL(database.url).pathname.slice(1);
    await query(
      database.url,
      `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${setting}; COMMIT`,
    );
  }

  const LATE: [string, () => unknown, () => unknown][] = [
    ['is unavailable', () => proxy.refuse(), () => proxy.restore()],
    ['is read-only for a moment', () => readOnly('on'), () => readOnly('off')],
  ];

  /** In this process. */
  function start(
    env: Record<string, string>,
    log = createLog('silent'),
    timeoutMs?: number,
  ): Promise<Service> {
    return startService(parseSettings({ DATA_DIR: tmpdir(), ...env }), log, undefined, timeoutMs);
  }

  it.each(LATE)('waits for a database that %s, and logs that once', async (_name, begin, end) => {
    await begin();
    let output = '';
    const log = createLog('info', { write: (line) => void (output += line) });
    const starting = start({ DATABASE_URL: behindProxy(), PORT: String(await freePort()) }, log);
    await until(() => output.includes('waiting for the database'));
    await end();
    await (await starting).stop();
    expect(output.split('waiting for the database')).toHaveLength(2);
  });

  it('waits for a database that does not answer, and for one that needs more than a second per connection', async () => {
    const slow = await TcpProxy.before(database.url); // concurrently: each takes some seconds until its timeout
    proxy.blackhole();
    slow.toClient.delayMs = 400;
    const late = await spawnService({ DATABASE_URL: behindProxy(slow) });
    try {
      service = await spawnService({ DATABASE_URL: behindProxy() });
      await Promise.all([
        waits(service, () => proxy.restore()),
        waits(late, () => (slow.toClient.delayMs = 0)),
      ]);
    } finally {
      await late.end('SIGKILL');
      await slow.refuse();
    }
  });

  /** Expects that the start waits until `end` makes the database available, and logs that once. */
  async function waits(starting: ServiceChild, end: () => unknown): Promise<void> {
    await starting.says('waiting for the database');
    await end();
    await starting.says('Latchkey is ready');
    await request(starting.url).get('/health/ready').expect(200);
    const lines = starting.output().trim().split('\n');
    expect(lines.filter((line) => line.includes('waiting for the database'))).toHaveLength(1);
    expect(starting.output()).not.toContain('Retrying');
    expect(starting.output()).not.toMatch(/"level":"error"/);
    expect(await starting.end('SIGTERM')).toBe(0);
  }

  it('fails in the end, with the reason', async () => {
    await readOnly('on');
    const starting = start({ DATABASE_URL: database.url, PORT: '1' }, undefined, 600);
    // A busy machine may not answer within that time at all.
    await expect(starting).rejects.toThrow(/not usable within 1 s: (?:it cannot be written to|.*timeout)/);
  });

  it('does not wait for a database that refuses', async () => {
    const wrong = new URL(database.url);
    wrong.password = 'hunter2';
    service = await spawnService({ DATABASE_URL: wrong.href });
    expect(await service.ended).toBe(1);
    expect(service.output()).toContain('password authentication failed');
    expect(service.output()).not.toMatch(/waiting|Retrying|hunter2|\n +at /);
  });

  it('does not wait when it cannot listen on the address', async () => {
    const starting = start({ DATABASE_URL: database.url, HOST: 'nowhere.invalid', PORT: '1' });
    await expect(starting).rejects.toThrow('HOST=nowhere.invalid, PORT=');
  });

  describe('ends at once, with 0, after a signal', () => {
    let mute: Server;

    beforeAll(async () => {
      mute = createServer((socket) => socket.on('error', () => undefined).resume());
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => new Promise((resolve) => mute.close(resolve)));

    it('while its code is loaded', async () => {
      const preload = new URL('./signal-while-loading.mjs', import.meta.url).href;
      service = await spawnService({ NODE_OPTIONS: `--import=${preload}` });
      expect(await service.ended).toBe(0); // without a handler there is no exit code, and process 1 ignores the signal
    });

    it('while the database is unavailable', async () => {
      service = await spawnService({ DATABASE_URL: `postgres://a:b@127.0.0.1:${await freePort()}/x` });
      await service.says('waiting for the database');
      await expectEndAtOnce('SIGINT');
    });

    it('while the database does not answer', async () => {
      const { port } = mute.address() as { port: number };
      const connected = new Promise((resolve) => mute.once('connection', resolve));
      service = await spawnService({ DATABASE_URL: `postgres://a:b@127.0.0.1:${port}/x` });
      await connected;
      await expectEndAtOnce('SIGTERM');
    });

    it('while another instance migrates', async () => {
      const lock = 'SELECT pg_advisory_lock(7165934107325011), pg_sleep(60)';
      const migrating = query(database.url, lock).catch(() => undefined); // ends with the database
      service = await spawnService({ DATABASE_URL: behindProxy() });
      const asks = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%try_advisory_xact_lock%' AND pid <> pg_backend_pid()`;
      await until(async () => (await query(database.url, asks)).length > 0);
      await expectEndAtOnce('SIGTERM');
      await query(
        database.url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(60)' AND pid <> pg_backend_pid()`,
      );
      await migrating;
    });

    it('while the embedded database starts, and stops that too', async () => {
      const DATA_DIR = mkdtempSync(join(tmpdir(), 'latchkey-start-'));
      try {
        service = await spawnService({ DATA_DIR });
        const pidFile = join(DATA_DIR, 'postgres', 'postmaster.pid');
        while (!existsSync(pidFile)) await delay(5);
        await expectEndAtOnce('SIGTERM');
        expect(service.output()).not.toContain('Latchkey is ready');
        expect(existsSync(pidFile)).toBe(false); // the database has stopped before the service ends
      } finally {
        rmSync(DATA_DIR, { recursive: true, force: true });
      }
    });

    it('while the embedded database is created: Ctrl-C also ends initdb', async () => {
      const DATA_DIR = mkdtempSync(join(tmpdir(), 'latchkey-start-'));
      chmodSync(DATA_DIR, 0o711); // for the account that runs PostgreSQL
      const env = { PATH: process.env['PATH'], DATA_DIR, PORT: String(await freePort()) };
      const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
      const child = spawn(process.execPath, [main, 'serve'], {
        env,
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      try {
        const said = text(child.stderr);
        const ended = once(child, 'exit');
        await until(() => readdirSync(DATA_DIR).some((name) => name.startsWith('postgres.new-')));
        process.kill(-child.pid!, 'SIGINT'); // as a terminal does
        expect([await ended, await said]).toEqual([[0, null], '']);
      } finally {
        child.kill('SIGKILL');
        rmSync(DATA_DIR, { recursive: true, force: true });
      }
    });

    let began: number;
    beforeEach(() => (began = performance.now()));

    /** Relative to the time this machine needs to start: neither after 30 s nor after the current attempt. */
    async function expectEndAtOnce(signal: NodeJS.Signals): Promise<void> {
      const arrived = performance.now();
      const ended = service!.end(signal);
      service!.child.kill(signal); // a second one changes nothing
      expect(await ended).toBe(0);
      expect(performance.now() - arrived).toBeLessThan(1500 + 2 * (arrived - began));
    }
  });
});
