import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';
import { Cluster } from '../support/cluster.js';
import { Endings } from '../support/endings.js';
import { FaultLoad } from './fault-load.js';
import { isFull } from './faults.js';
import { isInstalled, needs } from '../support/installed.js';
import { query } from '../support/database.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { ReplicatedPostgres, type PostgresNode } from '../support/standby.js';
import { until, watchLateness } from '../support/waiting.js';
import { deployed, complaints, ProxyProcess } from './proxy-process.js';
import { freePort } from '../support/free-port.js';

/** Only root may make one, and not in every container. */
const hasSmallDisks =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

/** A file system in memory that can be filled to the last byte. */
class SmallDisk {
  private constructor(readonly path: string) {}

  static create(megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'latchkey-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', path]);
    return new SmallDisk(path);
  }

  /** Fills it to the last byte. */
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
/** Time until an operator, or Patroni, promotes the standby. */
const DECISION_MS = 1000;
/** Small files. (No operating system crashes here, so it may do without full pages.) */
const SMALL = ['shared_buffers=16MB', 'max_wal_size=48MB', 'full_page_writes=off'];

/** Two instances under load, during faults of their database. */
needs({ 'test:all -- infra, in full': isFull }).describe('faults of the database', () => {
  const endings = new Endings();
  let cluster: Cluster;

  beforeEach(async () => {
    cluster = endings.after(await Cluster.create(), (all) => all.close());
  });
  afterEach(() => endings.run());

  /** @param work runs between two phases of load without failures */
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
          'synchronous standby frozen for 5 s',
          async () => {
            pair.standby.freeze();
            await delay(FAULT_MS);
          },
          () => pair.standby.thaw(),
        ],
        [
          'database read-only for 5 s',
          async () => {
            await readOnly('on');
            await delay(FAULT_MS);
          },
          () => readOnly('off'),
        ],
      ])('%s', (fault, hurt, heal) =>
        underLoad(url, fault, async () => {
          await hurt();
          await heal();
        }),
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
        // Room for the log of five seconds: if that is full, PostgreSQL stops, as in the fault "killed".
        await query(`${postgres.url}postgres`, 'SELECT pg_switch_wal()');
        await query(`${postgres.url}postgres`, 'CREATE TABLE first_of_the_next ()');
        disk.fill();
        await Promise.all([delay(FAULT_MS), statusIs(503)]);
        disk.free();
        const lateness = watchLateness();
        const write = (): Promise<boolean> =>
          query(`${postgres.url}postgres`, 'CREATE TABLE after_that ()').then(
            () => true,
            () => false,
          );
        await until(write, 'the database accepts writes');
        const began = performance.now();
        await statusIs(200);
        expect(performance.now() - began - lateness()).toBeLessThan(5000); // docs/database.md#disk-full
      };
      await underLoad(`${postgres.url}latchkey`, 'disk of the database full for 5 s', work);
    },
  );
});

/**
 * What HAProxy asks of Patroni: each server's port answers `GET /primary` with 200 if it is the leader, else with 503. Who is the
 * leader is for the test to say, which also promotes.
 */
class PatroniStandIn<Node> {
  private readonly servers: Server[] = [];

  /** @param leader the primary; undefined while there is none */
  constructor(public leader: Node | undefined) {}

  /** @returns the port that answers for this server */
  async answerFor(node: Node): Promise<number> {
    const server = createServer(({ url }, response) => {
      response.writeHead(url === '/primary' && this.leader === node ? 200 : 503).end();
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const server of this.servers) server.closeAllConnections();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

const isRoot = process.getuid?.() === 0;

/** HAProxy before a primary and its standby, with deploy/haproxy-postgres.cfg as it stands. */
class PostgresProxy {
  private constructor(
    private readonly patroni: PatroniStandIn<PostgresNode>,
    private readonly process: ProxyProcess,
    private readonly directory: string,
    readonly port: number,
  ) {}

  /** @throws Error when HAProxy refuses the file, or has something to say about it */
  static async before({ primary, standby }: ReplicatedPostgres): Promise<PostgresProxy> {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-haproxy-'));
    const patroni = new PatroniStandIn(primary);
    const port = await freePort();
    const place = async (node: PostgresNode): Promise<string> =>
      `127.0.0.1:${node.port} check port ${await patroni.answerFor(node)}`;
    const text = deployed('haproxy-postgres.cfg', {
      ...(!isRoot && { '    user haproxy\n    group haproxy\n': '' }),
      'log /dev/log local0': 'log stdout format raw local0',
      'bind :5432': `bind 127.0.0.1:${port}`,
      '10.0.0.21:5432 check port 8008': await place(primary),
      '10.0.0.22:5432 check port 8008': await place(standby),
    });
    const file = join(directory, 'haproxy.cfg');
    writeFileSync(file, text);
    const said = complaints('haproxy', ['-c', '-f', file]);
    if (said !== '') throw new Error(said);
    const running = await ProxyProcess.start('haproxy', ['-db', '-f', file], port);
    return new PostgresProxy(patroni, running, directory, port);
  }

  /** Makes the standby the primary, as Patroni does when it has given the primary up. */
  async failOver(standby: PostgresNode): Promise<void> {
    this.patroni.leader = undefined;
    await standby.promote();
    this.patroni.leader = standby;
  }

  async stop(): Promise<void> {
    await this.process.stop();
    await this.patroni.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
