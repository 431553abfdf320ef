import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { isFull, reportFault } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { startTestService, type TestService } from '../support/service.js';
import type { PostgresNode } from '../support/postgres-node.js';
import { ReplicatedPostgres } from '../support/standby.js';
import { StubProvider } from '../support/stub-provider.js';
import { TokenLoad } from '../support/token-load.js';
import { until } from '../support/until.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const AWAY_MS = 30_000;
const POOL_SIZE = 10;
const BACKENDS = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'latchkey'`;

/** What takes no half a minute of it is in test/database/standby.spec.ts. */
needs({ 'npm run test:infra in full': isFull }).describe(
  'a synchronous standby that goes away under load',
  () => {
    let pair: ReplicatedPostgres;
    let provider: StubProvider;
    let service: TestService;

    beforeEach(async () => {
      [pair, provider] = await Promise.all([ReplicatedPostgres.start(), StubProvider.start()]);
      service = await startTestService({
        ...provider.env(),
        DATABASE_URL: pair.primary.url,
        DATABASE_POOL_SIZE: String(POOL_SIZE),
        SERVICE_KEYS: SERVICE_KEY,
      });
    });
    afterEach(async () => {
      await service?.close();
      await pair?.stop();
      await provider?.close();
    });

    const ready = async (): Promise<number> => (await request(service.url).get('/health/ready')).status;

    /** @returns the most backends of the service that the primary had meanwhile */
    async function mostBackends(milliseconds: number): Promise<number> {
      const end = performance.now() + milliseconds;
      let most = 0;
      while (performance.now() < end) {
        const [row] = await pair.primary.query(BACKENDS);
        most = Math.max(most, row!['n'] as number);
        await delay(50);
      }
      return most;
    }

    it.each<[string, (standby: PostgresNode) => unknown, (standby: PostgresNode) => unknown]>([
      ['frozen', (standby) => standby.freeze(), (standby) => standby.thaw()],
      ['killed', (standby) => standby.kill(), (standby) => standby.start()],
    ])(
      '%s: reads go on, no backends pile up, and nothing is acknowledged that it does not have',
      async (what, hurt, heal) => {
        const load = await TokenLoad.start(service.url, SERVICE_KEY);
        await until(() => load.tokens.length > 50);
        const before = load.reads.failed;
        await hurt(pair.standby);
        const most = await mostBackends(AWAY_MS);
        expect(most).toBeLessThanOrEqual(2 * POOL_SIZE); // commits that were given up wait a moment longer
        expect(await ready()).toBe(503);
        const [readable, unreadable] = [load.reads.succeeded, load.reads.failed - before];
        expect(unreadable).toBeLessThan(readable / 20);

        await heal(pair.standby);
        const back = performance.now();
        const written = load.writes.succeeded;
        await until(() => load.writes.succeeded > written + 20);
        const recovery = performance.now() - back;
        expect(recovery).toBeLessThan(3000);
        await until(async () => (await ready()) === 200);

        // Some are waiting for the standby when the primary is lost.
        pair.standby.freeze();
        await mostBackends(1500);
        await load.stop();
        await pair.primary.kill();
        pair.standby.thaw();
        await pair.standby.promote();
        const lost = await load.lostIn(pair.standby.url);
        reportFault({
          fault: `synchronous standby ${what} for 30 s`,
          requests: load.writes.succeeded + load.writes.failed,
          failed: load.writes.failed,
          longestGapMs: load.writes.longestGapMs,
          acknowledged: load.tokens.length + load.events.length,
          lost: lost.tokens + lost.events,
          doubled: load.events.length - new Set(load.events).size,
          notes: `writes; of ${readable + unreadable} reads ${unreadable} failed; ${most} backends; writes again after ${(recovery / 1000).toFixed(1)} s`,
        });
        expect(lost).toEqual({ tokens: 0, events: 0 });
      },
      120_000,
    );
  },
);
