import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import request from 'supertest';
import {
  startTemporaryPostgres,
  type TemporaryPostgres,
} from '../../packages/embedded-postgres/src/temporary-postgres.js';
import { isFull, reportFault } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { query } from '../support/query.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { TokenLoad } from '../support/token-load.js';
import { until } from '../support/until.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const DISK = mkdtempSync(join(tmpdir(), 'latchkey-disk-'));
// Enough for a new cluster, and for a table that then takes what is left.
const mounted = isFull && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=160m', 'tmpfs', DISK]).status === 0;

/** A small file system in memory: only root may mount one. */
needs({ 'npm run test:infra in full': isFull, 'the right to mount': mounted || !isFull }).describe(
  'a full disk',
  () => {
    let server: TemporaryPostgres;
    let provider: StubProvider;
    let service: TestService;

    beforeAll(async () => {
      server = await startTemporaryPostgres({
        dataDir: join(DISK, 'data'),
        settings: ['min_wal_size=32MB', 'max_wal_size=32MB', 'shared_buffers=8MB', 'fsync=off'],
        initdb: ['--no-sync', '--wal-segsize=4'],
      });
      await query(`${server.url}postgres`, 'CREATE DATABASE latchkey');
      provider = await StubProvider.start();
      service = await startTestService({
        ...provider.env(),
        DATABASE_URL: `${server.url}latchkey`,
        SERVICE_KEYS: SERVICE_KEY,
      });
    });
    afterAll(async () => {
      await service?.close();
      await provider?.close();
      await server?.stop();
      spawnSync('umount', [DISK]);
      rmSync(DISK, { recursive: true, force: true });
    });

    it('is not ready while it lasts, acknowledges nothing that is not stored, and goes on once there is room', async () => {
      const databaseUrl = `${server.url}latchkey`;
      const ready = async (): Promise<number> => (await request(service.url).get('/health/ready')).status;
      const load = await TokenLoad.start(service.url, SERVICE_KEY);
      await until(() => load.tokens.length > 50);
      expect(await ready()).toBe(200);
      await query(databaseUrl, 'CREATE UNLOGGED TABLE filler (text text)');
      const filling = `INSERT INTO filler SELECT repeat('x', 1800) FROM generate_series(1, 1000)`;
      await expect(
        (async () => {
          for (;;) await query(databaseUrl, filling);
        })(),
      ).rejects.toMatchObject({ code: '53100' });
      await until(async () => (await ready()) === 503);
      const { failed } = load.writes;
      await until(() => load.writes.failed > failed + 100);
      expect(await ready()).toBe(503);

      await query(databaseUrl, 'DROP TABLE filler');
      const written = load.writes.succeeded;
      await until(() => load.writes.succeeded > written + 50);
      await until(async () => (await ready()) === 200);
      await load.stop();
      const lost = await load.lostIn(databaseUrl);
      reportFault({
        fault: 'disk full',
        requests: load.writes.succeeded + load.writes.failed,
        failed: load.writes.failed,
        longestGapMs: load.writes.longestGapMs,
        acknowledged: load.tokens.length + load.events.length,
        lost: lost.tokens + lost.events,
        doubled: load.events.length - new Set(load.events).size,
        notes: `writes; of ${load.reads.succeeded + load.reads.failed} reads ${load.reads.failed} failed`,
      });
      expect(lost).toEqual({ tokens: 0, events: 0 });
    }, 120_000);
  },
);
