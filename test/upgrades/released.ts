import { createPrivateKey, createPublicKey, type JsonWebKey } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { MIGRATIONS } from '../../src/entities.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { providerEnv } from '../provider-events/transmitter.js';
import { SERVICE_KEY } from '../support/service.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { DIRECTORY_ENV } from '../support/directory.js';
import { ClientKey } from '../support/dpop.js';
import type { StubProvider } from '../support/stub-provider.js';
import { WEBHOOK_SECRET } from '../support/webhook-receiver.js';

/** What the users of a service hold. */
export interface Held {
  /** Refresh tokens, by name of the user. */
  readonly sessions: Readonly<Record<'ada' | 'adaPhone' | 'bob' | 'cleo' | 'eve', string>>;
  /** Ended by the provider and by support. */
  readonly ended: Readonly<Record<'dan' | 'finn', string>>;
  /** Id of Ada. */
  readonly ada: string;
  /** Key of Bob's session. */
  readonly key: JsonWebKey;
  /** Last event that Ada's socket has received; one more is in the history. */
  readonly seen: { readonly offset: number; readonly id: string };
  readonly missed: string;
  readonly idempotent: { readonly key: string; readonly id: string };
  readonly device: { readonly user_code: string; readonly device_code: string };
  /** Of a sign-in that has begun. */
  readonly state: string;
  /** Id of Cleo in the directory. */
  readonly directoryUser: string;
}

/** A filled database that a released version has made, and the settings that do not change. */
export interface Released {
  readonly version: string;
  readonly commit: string;
  readonly at: string;
  readonly held: Held;
  readonly tables: Readonly<Record<string, readonly object[]>>;
}

const HERE = new URL('released/', import.meta.url);

/** The service of the released version that `npm run test:all -- upgrades` has built; else this one takes its place. */
export const RELEASED_MAIN =
  process.env['RELEASED'] === undefined ? undefined : join(process.env['RELEASED'], 'dist/src/main.js');

export const PUBLIC_URL = 'http://localhost:3000';

/** By version. */
export const RELEASED: readonly (readonly [version: string, released: () => Released])[] = readdirSync(HERE)
  .filter((name) => name.endsWith('.json'))
  .map((name) => [
    name.slice(0, -'.json'.length),
    () => JSON.parse(readFileSync(new URL(name, HERE), 'utf8')) as Released,
  ]);

/** Settings of the service that made the database, and of the one that continues with it. */
export function releasedEnv(stub: StubProvider, corp: string, webhook: string): Record<string, string> {
  return {
    ...stub.env(),
    ...DIRECTORY_ENV,
    ...providerEnv('CORP', corp),
    PROVIDERS_CORP_SIGNALS: 'on',
    PROVIDERS_MOCK_ENABLED: 'false',
    DEVICE_GRANT: 'on',
    SERVICE_KEYS: SERVICE_KEY,
    PUBLIC_URL,
    REDIRECT_URIS: 'https://app.example/cb?a=1',
    AUDIT_RETENTION_DAYS: '3650',
    WEBHOOK_URLS: webhook,
    WEBHOOK_SECRET,
    WEBHOOK_EVENTS: 'device_renamed',
    WEBHOOK_PRIVATE: 'true',
  };
}

export function keyOf(jwk: JsonWebKey): ClientKey {
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
  return new ClientKey({ privateKey, publicKey: createPublicKey(privateKey) });
}

/** Makes the database of a released version, with its migrations. What has not expired then has not expired now. */
export async function restore({ at, tables }: Released): Promise<TestDatabase> {
  const database = await createEmptyDatabase();
  const migrations = MIGRATIONS.filter(({ name }) =>
    tables['migrations']!.some((one) => 'name' in one && one.name === name),
  );
  const source = await new DataSource({ ...dataSourceOptions(database.url, 1), migrations }).initialize();
  await source.runMigrations();
  await source.destroy();
  const client = new Client(database.url);
  await client.connect();
  try {
    await client.query('SET session_replication_role = replica');
    for (const [table, rows] of Object.entries(tables)) {
      if (table === 'migrations') continue;
      const text = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
      await client.query(text, [JSON.stringify(rows)]);
    }
    const { rows } = await client.query<{ table: string; column: string }>(
      `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
       WHERE table_schema = current_schema() AND data_type LIKE 'timestamp%' AND table_name = ANY ($1)
         AND (column_name ~ 'expires?_at$' OR table_name = 'signing_keys')`,
      [Object.keys(tables)],
    );
    for (const { table, column } of rows) {
      await client.query(`UPDATE ${table} SET ${column} = ${column} + (now() - $1::timestamptz)`, [at]);
    }
  } finally {
    await client.end();
  }
  return database;
}
