import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runningEmbeddedPostgres, startEmbeddedPostgres } from '#embedded-postgres';
import { DataSource } from 'typeorm';
import { cluster, ENTITIES, MIGRATIONS } from '../../entities.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import {
  directTarget,
  targetOf,
  type ConnectionTarget,
} from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { checkDatabase } from '../../platform/database/start/migrate.js';
import { requireSchema } from '../../platform/database/start/require-usable.js';
import { Sql } from '../../platform/database/sql.js';
import { KeyCipher } from '../../token/keys/key-cipher.js';
import { isUsable } from '../../token/keys/key-life.js';
import { listKeys } from '../../token/keys/key.store.js';
import { copiedTables, requireNoRows, withClient, type Table } from './copy.js';

export const ALL_MIGRATIONS = MIGRATIONS.map(({ name }) => name);

const CHECK_MS = 3000;
const OLDEST_VERSION = 15;

/** A service that has just ended takes a moment to disconnect. */
const LOOKS = 10;
const LOOK_AGAIN_MS = 200;

export interface OwnDatabase {
  readonly target: ConnectionTarget;
  /** Stops an embedded database that was started. */
  close(): Promise<void>;
}

interface OpenOptions {
  /** For a backup: a running service keeps its embedded database. */
  readonly besideService?: boolean;
  /** For a restore: an embedded database is made if there is none. */
  readonly creates?: boolean;
}

/** Opens the database of the settings; an embedded one is started, unless its service runs. */
export async function openOwnDatabase(settings: Settings, options: OpenOptions = {}): Promise<OwnDatabase> {
  const { databaseUrl, dataDir } = settings;
  const close = (): Promise<void> => Promise.resolve();
  if (databaseUrl !== undefined) return { target: directTarget(settings), close };
  const exists = existsSync(join(dataDir, 'postgres'));
  if (!exists && !options.creates)
    throw new Error(`there is no database in ${dataDir}: set DATABASE_URL or DATA_DIR`);
  const running = exists ? runningEmbeddedPostgres(dataDir) : undefined;
  if (running !== undefined && !options.besideService)
    throw new Error(`a service is running on the database in ${dataDir}: stop it first`);
  if (running !== undefined) return { target: targetOf(() => running, 'session'), close };
  const started = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  return { target: targetOf(() => started.url, 'session'), close: () => started.stop() };
}

export interface Schema {
  readonly tables: readonly Table[];
  /** Rows are on several nodes, which have no common snapshot. */
  readonly isDistributed: boolean;
}

/** Checks that a database has the schema of this version. */
export async function requireCurrent(target: ConnectionTarget): Promise<Schema> {
  const { pending, newer } = await check(target);
  if (newer.length > 0)
    throw new Error('the database is of a newer version: use the command of that version');
  if (pending.length > 0)
    throw new Error(
      'the database is of an older version, or has no tables yet: start this version once, which migrates it',
    );
  return withEntities(target, async (dataSource) => {
    await requireSchema(dataSource);
    return schemaOf(dataSource);
  });
}

/**
 * Checks that SECRET_KEY is the service's: a backup with another one could not be restored with the
 * service's.
 */
export async function requireOwnKey(target: ConnectionTarget, { secretKey }: Settings): Promise<void> {
  const keys = await withEntities(target, (dataSource) => listKeys(new Sql(dataSource)));
  const cipher = new KeyCipher(secretKey);
  const unreadable = keys.find((key) => isUsable(key) && !cipher.canRead(key));
  if (unreadable)
    throw new Error(
      `SECRET_KEY is not that of the service, and does not decrypt key ${unreadable.kid}: set it`,
    );
}

/**
 * Checks that rows can be copied into a database, before anything is changed there.
 * @param migrations of the version that the rows are of: later ones would not change them
 * @returns tables of this version, of which earlier ones may lack some
 */
export async function requireEmpty(target: ConnectionTarget, migrations: readonly string[]): Promise<Schema> {
  const { version, pending, newer } = await check(target);
  if (Number.parseInt(version, 10) < OLDEST_VERSION)
    throw new Error(
      `the database is of PostgreSQL ${version}, and the service needs ${OLDEST_VERSION} or newer`,
    );
  const applied = ALL_MIGRATIONS.filter((name) => !pending.includes(name));
  if (newer.length > 0 || applied.some((name) => !migrations.includes(name)))
    throw new Error('the database has tables of a newer version: name an empty database');
  const schema = await withEntities(target, schemaOf);
  await requireNoInstance(target);
  await withClient(target, (client) => requireNoRows(client, schema.tables));
  return schema;
}

async function schemaOf(dataSource: DataSource): Promise<Schema> {
  return { tables: copiedTables(dataSource), isDistributed: await cluster.isUsed(dataSource) };
}

function check(target: ConnectionTarget) {
  const retries = { timeoutMs: CHECK_MS, signal: new AbortController().signal, log: () => undefined };
  return checkDatabase({ ...dataSourceOptions(target, 1), migrations: MIGRATIONS }, retries);
}

async function withEntities<Result>(
  target: ConnectionTarget,
  work: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const options = { ...dataSourceOptions(target, 1), entities: ENTITIES };
  const dataSource = await new DataSource(options).initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

// Instances of every role: the name of an application is public. A URL may set another name, as for this
// connection.
const COUNT_INSTANCES = `
  SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND application_name IN ('latchkey', 'latchkey-hints', current_setting('application_name'))`;

/** @throws if an instance of the service is connected */
export function requireNoInstance(target: ConnectionTarget): Promise<void> {
  return withClient(target, async (client) => {
    for (let look = 1; ; look++) {
      const { rows } = await client.query<{ count: number }>(COUNT_INSTANCES);
      const { count } = rows[0]!;
      if (count === 0) return;
      const connections = `${count} ${count === 1 ? 'connection' : 'connections'}`;
      if (look === LOOKS)
        throw new Error(`the service uses the database (${connections}): stop all instances first`);
      await delay(LOOK_AGAIN_MS);
    }
  });
}
