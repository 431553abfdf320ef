import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';
import { Cluster } from '../support/cluster.js';
import { Endings } from '../support/endings.js';
import { FaultLoad } from '../support/fault-load.js';
import { isFull } from '../support/faults.js';
import { isInstalled, needs } from '../support/installed.js';
import { PostgresProxy } from '../support/postgres-proxy.js';
import { query } from '../support/query.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { ReplicatedPostgres } from '../support/standby.js';
import { until } from '../support/until.js';

/** Only root may make one, and not in every container. */
const hasSmallDisks =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

/** A file system of its own, in memory, that can be filled to the last byte. */
class SmallDisk {
  private constructor(readonly path: string) {}

  static create(megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'latchkey-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path]);
    return new SmallDisk(path);
  }

  /** Leaves no room for anybody. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.path);
    try {
      writeFileSync(this.ballast, Buffer.alloc(bavail * bsize));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error; // PostgreSQL took the last of it
    }
  }

  free(): void {
    rmSync(this.ballast, { force: true });
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }

  private get ballast(): string {
    return join(this.path, 'ballast');
  }
}

const FAULT_MS = 5000;
/** How long it takes until somebody, or Patroni, has decided to promote the standby. */
const DECISION_MS = 1000;
const LONG = 180_000;
/** Small files. (No operating system crashes here, so it may do without full pages.) */
const SMALL = ['shared_buffers=16MB', 'max_wal_size=48MB', 'full_page_writes=off'];

/** Two instances on a database of their own, under load, while something happens to it. Only in full. */
needs({ 'npm run test:infra in full': isFull }).describe('faults of the database', () => {
  const endings = new Endings();
  let cluster: Cluster;

  beforeEach(async () => {
    cluster = endings.after(await Cluster.create(), (all) => all.close());
  });
  afterEach(() => endings.run());

  /** @param work what happens between load that goes well and load that goes well again */
  async function underLoad(
    DATABASE_URL: string,
    fault: string,
    work: (instances: readonly ServiceProcess[]) => Promise<unknown>,
  ) {
    const redis = endings.after(await RedisServer.start(), (server) => server.kill());
    const env = { DATABASE_URL, REDIS_URL: redis.url };
    const instances = await Promise.all([cluster.start(env), cluster.start(env)]);
    const urls = instances.map(({ url }) => url);
    const load = endings.after(await FaultLoad.start(urls), (one) => one.close());
    await load.successes(200);
    await work(instances);
    await load.successes(200);
    await load.finish(fault);
    expect(instances.map((instance) => instance.output()).join('')).not.toMatch(/uncaught|unhandled/i);
  }

  needs({ haproxy: isInstalled('haproxy'), 'redis-server': hasRedis }).describe(
    'with a synchronous standby',
    () => {
      let pair: ReplicatedPostgres;
      let proxy: PostgresProxy;
      let url: string;

      beforeEach(async () => {
        pair = endings.after(await ReplicatedPostgres.start(), (both) => both.stop());
        proxy = endings.after(await PostgresProxy.before(pair), (one) => one.stop());
        const behind = new URL(pair.primary.url);
        behind.port = String(proxy.port);
        url = behind.href;
      });

      async function readOnly(setting: 'on' | 'off'): Promise<void> {
        await pair.primary.query(`ALTER SYSTEM SET default_transaction_read_only = ${setting}`);
        await pair.primary.query('SELECT pg_reload_conf()');
      }

      it.each<[string, () => unknown, () => unknown]>([
        [
          'primary killed, synchronous standby promoted after 1 s, behind HAProxy',
          async () => {
            await pair.primary.kill();
            await delay(DECISION_MS);
          },
          () => proxy.failOver(pair.standby),
        ],
        [
          'primary frozen, synchronous standby promoted after 1 s, behind HAProxy; the old one wakes up 5 s later',
          async () => {
            pair.primary.freeze();
            await delay(DECISION_MS);
            await proxy.failOver(pair.standby);
            await delay(FAULT_MS);
          },
          () => pair.primary.thaw(),
        ],
        [
          'primary frozen for 5 s',
          async () => {
            pair.primary.freeze();
            await delay(FAULT_MS);
          },
          () => pair.primary.thaw(),
        ],
        [
          'database read-only for 5 s',
          async () => {
            await readOnly('on');
            await delay(FAULT_MS);
          },
          () => readOnly('off'),
        ],
      ])(
        '%s',
        (fault, hurt, heal) =>
          underLoad(url, fault, async () => {
            await hurt();
            await heal();
          }),
        LONG,
      );
    },
  );

  needs({ 'the right to mount': hasSmallDisks, 'redis-server': hasRedis }).it(
    'the disk is full',
    async () => {
      const disk = endings.after(SmallDisk.create(250), (one) => one.remove());
      const dataDir = join(disk.path, 'data');
      const postgres = endings.after(
        await startTemporaryPostgres({ dataDir, settings: SMALL, initdb: ['--no-sync'] }),
        (server) => server.stop(),
      );
      await query(`${postgres.url}postgres`, 'CREATE DATABASE latchkey');
      const work = async ([instance]: readonly ServiceProcess[]): Promise<void> => {
        const statusIs = (status: number): Promise<void> =>
          until(async () => (await cluster.readiness(instance!))[0] === status);
        await statusIs(200);
        // Room for the log of five seconds: where that is full, PostgreSQL stops, and this is the fault "killed".
        await query(`${postgres.url}postgres`, 'SELECT pg_switch_wal()');
        await query(`${postgres.url}postgres`, 'CREATE TABLE first_of_the_next ()');
        disk.fill();
        await Promise.all([delay(FAULT_MS), statusIs(503)]);
        disk.free();
        await statusIs(200);
      };
      await underLoad(`${postgres.url}latchkey`, 'disk of the database full for 5 s', work);
    },
    LONG,
  );
});
