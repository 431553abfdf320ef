import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import request from 'supertest';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../src/entities.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { checkDatabase, migrate } from '../../src/platform/database/start/migrate.js';
import { SERVICE_KEY } from '../support/service.js';
import {
  createEmptyDatabase,
  query,
  unhurried,
  unhurriedOptions,
  type TestDatabase,
} from '../support/database.js';
import { Endings } from '../support/endings.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient, type Received } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { RELEASED_MAIN } from './released.js';

/** Rows of the table that changes. `UPGRADE_ROWS=10000000` takes a while, and 5 GB. */
const ROWS = Number(process.env['UPGRADE_ROWS'] ?? 50_000);

type MigrationClass = new () => MigrationInterface & { readonly statements: readonly string[] };

function migrationOf(
  migrationName: string,
  statements: readonly string[],
  transaction = true,
): MigrationClass {
  return class implements MigrationInterface {
    readonly name = migrationName;
    readonly transaction = transaction;
    readonly statements = statements;
    async up(runner: QueryRunner): Promise<void> {
      for (const statement of statements) await runner.query(statement);
    }
    async down(): Promise<void> {}
  };
}

/** As a next version may have them (docs/development.md#migrations). */
const NEXT: readonly MigrationClass[] = [
  migrationOf('Adding1900000000001', [
    'CREATE TABLE grants (user_id uuid, client text, PRIMARY KEY (user_id, client))',
    "ALTER TABLE refresh_tokens ADD COLUMN client text, ADD COLUMN kind text NOT NULL DEFAULT 'usual'",
  ]),
  migrationOf(
    'Index1900000000002',
    [
      'DROP INDEX CONCURRENTLY IF EXISTS refresh_tokens_client',
      'CREATE INDEX CONCURRENTLY refresh_tokens_client ON refresh_tokens (client, session_id)',
    ],
    false,
  ),
  // The old table stays for the version before.
  migrationOf('Replacing1900000000003', [
    'CREATE TABLE named_devices (LIKE devices INCLUDING ALL)',
    'INSERT INTO named_devices SELECT * FROM devices',
  ]),
];

describe('migrations of the next version', () => {
  const endings = new Endings();
  let database: TestDatabase;
  beforeEach(async () => {
    database = endings.after(await createEmptyDatabase(), (one) => one.close());
  });
  afterEach(() => endings.run());

  const once = { timeoutMs: 0, signal: new AbortController().signal, log: () => undefined };
  const optionsOf = (next: readonly MigrationClass[]) => ({
    ...unhurriedOptions(dataSourceOptions(database.url, 1)),
    migrations: [...MIGRATIONS, ...next],
  });
  const upgrade = (next = NEXT, options = once) => migrate(optionsOf(next), options);
  const isApplied = async (): Promise<boolean> =>
    (await query(database.url, "SELECT FROM pg_indexes WHERE indexname = 'refresh_tokens_client'")).length >
    0;

  it(
    'run beside instances that serve, and back: no request fails, and no event is lost or comes twice',
    async () => {
      const provider = endings.after(await StubProvider.start(), (one) => one.close());
      const env = {
        ...provider.env(),
        SERVICE_KEYS: SERVICE_KEY,
        PUBLIC_URL: 'http://localhost:3000',
        DATABASE_URL: unhurried(database.url),
      };
      const start = async (main?: string): Promise<ServiceProcess> =>
        endings.after(await startServiceProcess(env, main), async (one) => void (await one.end('SIGKILL')));
      const old = await start(RELEASED_MAIN); // whose migrations make the tables
      await query(
        database.url,
        `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT gen_random_uuid(), gen_random_uuid(), sha256(uuid_send(gen_random_uuid())), now() + interval '30 days'
       FROM generate_series(1, $1)`,
        [ROWS],
      );
      const tokens = await signIn(old.url, 'ada', { device_id: randomUUID() });
      let socket = await SocketClient.connect(old.url, tokens.access_token);
      const received: Received[] = [];
      /** The client reconnects, with the offset of its last event. */
      const reconnect = async (url: string): Promise<void> => {
        socket.close();
        received.push(...socket.of('note'));
        socket = await SocketClient.connect(url, tokens.access_token, {
          offset: received.at(-1)!.meta!.offset!,
        });
      };

      const over = new AbortController();
      let urls = [old.url];
      const counts = { refresh: 0, signIn: 0, push: 0 };
      const load = async (
        kind: keyof typeof counts,
        work: (url: string) => Promise<unknown>,
      ): Promise<void> => {
        for (; !over.signal.aborted; counts[kind]++) await work(urls[counts[kind] % urls.length]!);
      };
      const ids: string[] = [];
      const running = Promise.all([
        load('refresh', async (url) => {
          const { refresh_token } = tokens;
          const { body } = await request(url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
          await bearer(url, (body as Tokens).access_token)
            .get('/me')
            .expect(200);
        }),
        load('signIn', (url) => signIn(url, randomUUID(), { device_id: randomUUID() })),
        load('push', async (url) => {
          const body = { user_id: tokens.user_id, event: 'note', data: {} };
          const { body: pushed } = await bearer(url, SERVICE_KEY).post('/push', body).expect(202);
          ids.push((pushed as { id: string }).id);
        }),
      ]);
      /** Sends requests to these instances, and no more to others. */
      const serve = async (...instances: readonly ServiceProcess[]): Promise<void> => {
        urls = instances.map(({ url }) => url);
        const begun = { ...counts };
        await until(() =>
          (['refresh', 'signIn', 'push'] as const).every((kind) => counts[kind] > begun[kind] + 5),
        );
      };
      const work = async (): Promise<void> => {
        // Others use the tables: as at a start, it may have to try again.
        await upgrade(NEXT, { ...once, timeoutMs: 60_000 });
        expect(await isApplied()).toBe(true);
        const here = await start();
        await serve(old, here);
        await reconnect(here.url);
        await serve(here);
        await old.end('SIGTERM');
        await serve(here);
        const back = await start(RELEASED_MAIN);
        expect(back.output()).toContain('A newer version has migrated the database');
        await serve(here, back);
        await reconnect(back.url);
        await serve(back);
        await here.end('SIGTERM');
        await serve(back);
        over.abort();
      };
      await Promise.race([running, work()]);
      await running;
      await socket.until(() => received.length + socket.of('note').length >= ids.length);
      socket.close();
      expect([...received, ...socket.of('note')].map(({ meta }) => meta!.id)).toEqual(ids);
      console.info(`${ROWS} rows: ${JSON.stringify(counts)}`);
    },
    180_000 + ROWS / 5,
  );

  it('are named before they run, and apart those that take long', async () => {
    await upgrade([]);
    const { pending, lengthy } = await checkDatabase(optionsOf(NEXT), once);
    expect([pending, lengthy]).toEqual([NEXT.map((one) => new one().name), ['Index1900000000002']]);
    expect(await isApplied()).toBe(false);
  });

  it('leave nothing half done if a table is locked', async () => {
    await upgrade([]);
    const holder = endings.after(new Client(database.url), (one) => one.end());
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE refresh_tokens IN ACCESS SHARE MODE');
    const before = await schemaOf(database.url);
    await expect(upgrade()).rejects.toThrow(/Adding1900000000001 did not get its locks/);
    expect(await schemaOf(database.url)).toBe(before);
    await holder.query('COMMIT');
    await upgrade();
    expect(await isApplied()).toBe(true);
  });

  it.each(NEXT.flatMap((one, i) => new one().statements.map((statement, at) => [statement, i, at] as const)))(
    'leave nothing half done if the connection ends at: %s',
    async (_statement, place, at) => {
      const { name, transaction, statements } = new NEXT[place]!();
      const cut = statements.map((text, i) =>
        i === at ? 'SELECT pg_terminate_backend(pg_backend_pid())' : text,
      );
      await upgrade([]);
      const before = await schemaOf(database.url);
      const broken = migrationOf(name!, cut, transaction);
      await expect(upgrade([broken])).rejects.toThrow();
      expect(await schemaOf(database.url)).toBe(before);
      await upgrade();
      expect(await isApplied()).toBe(true);
    },
  );
});

async function schemaOf(url: string): Promise<string> {
  const columns = await query(
    url,
    `SELECT table_name, column_name, data_type FROM information_schema.columns
     WHERE table_schema = current_schema() ORDER BY 1, 2`,
  );
  const applied = await query(url, 'SELECT name FROM migrations ORDER BY name');
  return JSON.stringify([columns, applied]);
}
