import { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dataSourceOptions } from '../src/database/data-source.js';
import { migrate } from '../src/database/migrate.js';
import { Cluster } from './support/cluster.js';
import { query } from './support/query.js';
import type { ServiceProcess } from './support/service-process.js';
import { SignInLoad } from './support/sign-in-load.js';
import { until } from './support/until.js';

/** What the next release may do, by the rule in CONTRIBUTING. */
const NEXT_RELEASE: (new () => MigrationInterface)[] = [
  class Locale1900000000000 implements MigrationInterface {
    up = (runner: QueryRunner): Promise<void> => runner.query('ALTER TABLE users ADD COLUMN locale text');
    down = async (): Promise<void> => undefined;
  },
  class Rank1900000001000 implements MigrationInterface {
    up = (runner: QueryRunner): Promise<void> =>
      runner.query(`ALTER TABLE refresh_tokens ADD COLUMN rank text NOT NULL DEFAULT 'none'`);
    down = async (): Promise<void> => undefined;
  },
  class Sessions1900000002000 implements MigrationInterface {
    transaction = false;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query('DROP INDEX CONCURRENTLY IF EXISTS access_tokens_session_id');
      await runner.query('CREATE INDEX CONCURRENTLY access_tokens_session_id ON access_tokens (session_id)');
    }
    down = async (): Promise<void> => undefined;
  },
];
const SOME = 60; // answers

/** This release, compiled, on the schema of the next one. */
describe('an instance of this release beside one of the next', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let load: SignInLoad | undefined;
  let reader: Client;

  beforeAll(async () => {
    cluster = await Cluster.create();
    instance = await cluster.start();
    reader = new Client(cluster.database.url);
    await reader.connect();
  });
  afterEach(() => load?.stop());
  afterAll(async () => {
    await reader?.end();
    await cluster?.close();
  });

  async function more(): Promise<void> {
    const seen = load!.answered.length;
    await until(() => load!.answered.length >= seen + SOME);
  }

  it('goes on without failure before, during and after the migrations, also behind somebody who reads for long', async () => {
    load = new SignInLoad(cluster, instance.url, 3);
    await more();
    const usual = load.longest();
    const before = load.answered.length;

    await reader.query('BEGIN; SELECT FROM users LIMIT 1');
    const options = dataSourceOptions(cluster.database.url, 1);
    const migrations = [...(options.migrations as (new () => MigrationInterface)[]), ...NEXT_RELEASE];
    const log: string[] = [];
    const patience = {
      patienceMs: 30_000,
      signal: new AbortController().signal,
      log: (line: string) => void log.push(line),
    };
    const upgrade = migrate({ ...options, migrations }, patience);
    await Promise.race([upgrade, delay(2500)]);
    expect(log).toEqual([expect.stringContaining('migration Locale1900000000000 needs a lock')]);
    await reader.query('COMMIT');
    await upgrade;
    const longest = load.longest(before);

    await more();
    await load.stop();
    expect(load.failed()).toEqual([]);
    expect(longest).toBeLessThan(500 + 3 * usual); // the lock's 200 ms, and what a busy machine needs
    const applied = 'SELECT name FROM migrations ORDER BY id DESC LIMIT 3';
    const names = NEXT_RELEASE.map(({ name }) => ({ name }));
    expect(await query(cluster.database.url, applied)).toEqual(names.toReversed());
  });

  it('starts on that schema, as after a rollback, and says so once', async () => {
    const rolledBack = await cluster.start();
    load = new SignInLoad(cluster, rolledBack.url, 3);
    await more();
    await load.stop();
    expect(load.failed()).toEqual([]);
    const warnings = rolledBack.output().match(/.*"level":"warn".*Sessions1900000002000.*/g);
    expect(warnings).toHaveLength(1);
    expect(instance.output()).not.toContain('newer version');
  });
});
