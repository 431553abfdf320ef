import { randomUUID } from 'node:crypto';
import request from 'supertest';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../src/entities.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { migrate } from '../../src/platform/database/start/migrate.js';
import { SERVICE_KEY } from '../support/channel.js';
import {
  createDatabase,
  query,
  unhurried,
  unhurriedOptions,
  type TestDatabase,
} from '../support/database.js';
import { Endings } from '../support/endings.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

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
    database = endings.after(await createDatabase(), (one) => one.drop());
  });
  afterEach(() => endings.run());

  const upgrade = (next: readonly (new () => MigrationInterface)[] = NEXT) =>
    migrate(
      {
        ...unhurriedOptions(dataSourceOptions(database.url, 1)),
        migrations: [...MIGRATIONS, ...next],
      },
      { timeoutMs: 0, signal: new AbortController().signal, log: () => undefined },
    );
  const isApplied = async (): Promise<boolean> =>
    (await query(database.url, "SELECT FROM pg_indexes WHERE indexname = 'refresh_tokens_client'")).length >
    0;

  it('run beside instances that serve: no request fails, and no event is lost or comes twice', async () => {
    await query(
      database.url,
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT gen_random_uuid(), gen_random_uuid(), sha256(uuid_send(gen_random_uuid())), now() + interval '30 days'
       FROM generate_series(1, $1)`,
      [ROWS],
    );
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const env = {
      ...provider.env(),
      SERVICE_KEYS: SERVICE_KEY,
      PUBLIC_URL: 'http://localhost:3000',
      DATABASE_URL: unhurried(database.url),
    };
    const start = async (): Promise<ServiceProcess> =>
      endings.after(await startServiceProcess(env), async (one) => void (await one.end('SIGKILL')));
    const here = await start();
    const tokens = await signIn(here.url, 'ada', { device_id: randomUUID() });
    const socket = await SocketClient.connect(here.url, tokens.access_token);

    const over = new AbortController();
    const counts = { refresh: 0, signIn: 0, push: 0 };
    const load = async (kind: keyof typeof counts, work: () => Promise<unknown>): Promise<void> => {
      for (; !over.signal.aborted; counts[kind]++) await work();
    };
    const ids: string[] = [];
    const running = Promise.all([
      load('refresh', () =>
        request(here.url).post('/oauth2/refresh').send({ refresh_token: tokens.refresh_token }).expect(200),
      ),
      load('signIn', () => signIn(here.url, randomUUID(), { device_id: randomUUID() })),
      load('push', async () => {
        const body = { user_id: tokens.user_id, event: 'note', data: {} };
        const { body: pushed } = await bearer(here.url, SERVICE_KEY).post('/push', body).expect(202);
        ids.push((pushed as { id: string }).id);
      }),
    ]);
    await upgrade();
    expect(await isApplied()).toBe(true);
    const there = await start(); // the new version, beside the old one
    const { body } = await request(there.url)
      .post('/oauth2/refresh')
      .send({ refresh_token: tokens.refresh_token })
      .expect(200);
    await bearer(here.url, (body as Tokens).access_token)
      .get('/me')
      .expect(200);
    over.abort();
    await running;
    await socket.until(() => socket.of('note').length >= ids.length);
    socket.close();
    expect(socket.of('note').map(({ meta }) => meta!.id)).toEqual(ids);
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(0);
    // Back to the version before, which does not know the migrations.
    expect(there.output()).toContain('A newer version has migrated the database');
  });

  it.each(NEXT.flatMap((one, i) => new one().statements.map((statement, at) => [statement, i, at] as const)))(
    'leave nothing half done if the connection ends at: %s',
    async (_statement, place, at) => {
      const { name, transaction, statements } = new NEXT[place]!();
      const cut = statements.map((text, i) =>
        i === at ? 'SELECT pg_terminate_backend(pg_backend_pid())' : text,
      );
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
