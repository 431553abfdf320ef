import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import request from 'supertest';
import { postgresBinaries } from '../../packages/embedded-postgres/src/binaries.js';
import { clusterDirectory } from '../../packages/embedded-postgres/src/cluster-directory.js';
import { ensureCluster, SUPERUSER } from '../../packages/embedded-postgres/src/cluster.js';
import { sharedPlace } from '../../packages/embedded-postgres/src/system-account.js';
import { Sql } from '../../src/platform/database/sql.js';
import { version } from '../support/deployment-files.js';
import { createDatabase, query } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { PostgresNode } from '../support/standby.js';
import { startTestService, type TestService } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

/**
 * 503 while the database accepts no writes (docs/production.md#behind-a-proxy). Outages: outage.spec.ts,
 * standby.spec.ts.
 */
describe('GET /health/ready', () => {
  const database = use(() => createDatabase());
  const service = use(() => startTestService({ DATABASE_URL: database.url }));
  afterEach(() => jest.restoreAllMocks());

  const ready = async (): Promise<unknown[]> => {
    const { status, body } = await request(service.url).get('/health/ready');
    return [status, body];
  };
  const UP = [200, { status: 'ok', version, database: 'up' }];
  const DOWN = [503, { status: 'unavailable', version, database: 'down' }];

  /** As in a failover: connections end, and new ones find a read-only or writable server. */
  async function readOnly(setting: 'on' | 'off'): Promise<void> {
    const name = new URL(database.url).pathname.slice(1);
    await query(
      database.url,
      `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${setting}; COMMIT;
       SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`,
    );
  }

  it('writes once a second at most, for all requests', async () => {
    await ready();
    const sql = jest.spyOn(service.app.get(Sql), 'query');
    const writes = (): number => sql.mock.calls.filter(([{ name }]) => name === 'write-check').length;
    const began = performance.now();
    for (let i = 0; i < 30; i++) expect(await Promise.all([ready(), ready()])).toEqual([UP, UP]);
    expect(writes()).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 1000));
  });

  it('is 503 within seconds while the server is read-only, 200 afterwards, and the log says why', async () => {
    await readOnly('on');
    await until(async () => (await ready())[0] === 503);
    expect(await ready()).toEqual(DOWN);
    expect(service.log.filter((line) => line.includes('not ready'))).toEqual([
      expect.stringContaining('the database is read-only'),
    ]);
    await readOnly('off');
    await until(async () => (await ready())[0] === 200);
    expect(service.log.join('')).toContain('the database can be written to again');
  });

  it('is 503 at the next request after the network is cut, and 200 if only connections were', async () => {
    const proxy = await TcpProxy.before(database.url);
    const behind = new URL(database.url);
    behind.port = String(proxy.port);
    const other = await startTestService({ DATABASE_URL: behind.href });
    try {
      const status = async (): Promise<number> => (await request(other.url).get('/health/ready')).status;
      for (let i = 0; i < 5; i++) {
        expect(await status()).toBe(200);
        proxy.cut();
      }
      expect(await status()).toBe(200);
      await proxy.refuse();
      expect([await status(), await status()]).toEqual([503, 503]);
      await proxy.restore();
      await until(async () => (await status()) === 200);
    } finally {
      await other.close();
      await proxy.refuse();
    }
  });

  describe('once a statement has found the disk full, though a small write still succeeds', () => {
    const FULL = `DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$`;
    const later = (ms: number) => void jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);
    beforeEach(async () => {
      await expect(service.app.get(Sql).query({ name: 'full', text: FULL }, [])).rejects.toThrow('no space');
    });

    it('is 503 for a second, and then 200 if there is room', async () => {
      expect(await ready()).toEqual(DOWN);
      later(1100);
      expect(await ready()).toEqual(UP);
    });

    it.each([
      ['still full', 'disk_full', 3_600_000, DOWN],
      ['not known to be full, without temporary tables', 'insufficient_privilege', 5000, UP],
    ])('and it is %s', async (_what, code, after, answer) => {
      const sql = service.app.get(Sql);
      const execute = sql.query.bind(sql);
      jest.spyOn(sql, 'query').mockImplementation(({ name, text }, values) => {
        const failing = FULL.replace('disk_full', code);
        return name === 'room-check'
          ? execute({ name: 'no-room', text: failing }, [])
          : execute({ name, text }, values);
      });
      later(1100);
      expect(await ready()).toEqual(DOWN);
      later(after);
      expect(await ready()).toEqual(answer);
      jest.restoreAllMocks();
      later(7_200_000);
      expect(await ready()).toEqual(UP);
    });
  });
});

/** A refused connection is not a slow server: the next response is 503. */
describe('GET /health/ready and the end of a PostgreSQL server', () => {
  let directory: string;
  let postgres: PostgresNode;
  let service: TestService;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-readiness-'));
    const cluster = clusterDirectory(directory, () => undefined);
    const { account, path } = cluster;
    const binaries = postgresBinaries(account, () => sharedPlace('programs'));
    const password = ensureCluster(path, { binaries, account, options: ['--no-sync'] });
    postgres = await new PostgresNode(cluster, password, await freePort(), []).start();
    service = await startTestService({ DATABASE_URL: postgres.urlOf(SUPERUSER, 'postgres') });
  });
  afterAll(async () => {
    await service?.close();
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const ready = async (): Promise<number> => (await fetch(`${service.url}/health/ready`)).status;
  const isReady = async (): Promise<boolean> => (await ready()) === 200;
  /** Opens all connections of the pool. */
  const fillPool = () =>
    Promise.all(
      Array.from({ length: 10 }, () =>
        service.app.get(Sql).query({ name: 's', text: 'SELECT pg_sleep(0.1)' }, []),
      ),
    );

  it('is 503 at the next request after the server was killed, also after a fresh write, and 200 again', async () => {
    for (const used of [false, true]) {
      await until(isReady);
      if (used) await fillPool();
      expect(await ready()).toBe(200);
      await postgres.kill();
      expect([await ready(), await ready()]).toEqual([503, 503]);
      await postgres.start();
      await until(isReady);
    }
  });

  it('stays 200 while connections are ended and the server lives', async () => {
    await fillPool();
    await until(isReady);
    for (let i = 0; i < 5; i++) {
      await postgres.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      );
      expect(await ready()).toBe(200);
    }
  });

  it('stays 200 through a slow moment, and answers without waiting for it', async () => {
    await until(async () => {
      await until(isReady);
      postgres.freeze();
      const began = performance.now();
      const status = await ready();
      if (performance.now() - began < 900) return expect(status).toBe(200) === undefined;
      postgres.thaw(); // the machine stalled for longer than a slow moment
      return false;
    });
    await delay(400);
    postgres.thaw();
    for (let i = 0; i < 5; i++) expect(await ready()).toBe(200);
    postgres.freeze();
    await until(async () => !(await isReady())); // a long one
    postgres.thaw();
    await until(isReady);
  });
});
