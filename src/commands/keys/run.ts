import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { runningEmbeddedPostgres, startEmbeddedPostgres } from '#embedded-postgres';
import { AuditStore } from '../../audit/audit.store.js';
import { oldSecretKey } from '../../platform/config/settings/load-settings.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { usualTarget } from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { checkSettings } from '../../platform/database/pool/session-settings.js';
import { Sql } from '../../platform/database/sql.js';
import { cluster, ENTITIES } from '../../entities.js';
import { Events } from '../../platform/events.js';
import type { KeyLife } from '../../token/keys/key-life.js';
import { KeyStore, listKeys } from '../../token/keys/key.store.js';

export type Command =
  | { readonly name: 'list'; readonly json: boolean }
  | { readonly name: 'rotate' }
  | { readonly name: 'revoke'; readonly kid: string }
  | { readonly name: 'reencrypt' };

/** Runs a command. @returns the text to print, without a secret */
export async function run(command: Command, settings: Settings): Promise<string> {
  const { database, stop } = await locate(settings);
  const options = { ...dataSourceOptions(database, 1), entities: ENTITIES };
  const dataSource = new DataSource(options);
  try {
    await dataSource.initialize();
    await checkSettings(dataSource);
    return await runOn(dataSource, command, settings);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
    await stop?.();
  }
}

/** Finds `DATABASE_URL`, or the embedded database, which it starts unless the service runs. */
async function locate(settings: Settings) {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl) return { database: usualTarget(settings) };
  if (!existsSync(join(dataDir, 'postgres'))) {
    throw new Error(
      `There is no database in ${dataDir}: start the service once, or set DATABASE_URL or DATA_DIR.`,
    );
  }
  const running = runningEmbeddedPostgres(dataDir);
  if (running) return { database: running };
  const started = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  return { database: started.url, stop: () => started.stop() };
}

async function runOn(dataSource: DataSource, command: Command, settings: Settings): Promise<string> {
  if (command.name === 'list') {
    const keys = await listKeys(new Sql(dataSource));
    return command.json ? jsonReport(keys) : tableReport(keys);
  }
  const replacements = (await cluster.isUsed(dataSource)) ? await cluster.replacements() : undefined;
  const Store = (replacements?.get(AuditStore) ?? AuditStore) as typeof AuditStore;
  const audit = new Store(dataSource, new Events(), settings);
  const store = new KeyStore(dataSource, audit, settings);
  if (command.name === 'reencrypt') {
    const count = await store.reencrypt(oldSecretKey());
    if (count === 0) return 'Nothing to do: the keys are encrypted with this SECRET_KEY already.\n';
    return `Encrypted ${count} ${count === 1 ? 'key' : 'keys'} anew. Restart the service with the new SECRET_KEY now.\n`;
  }
  if (command.name === 'rotate') {
    const { made, kid, activeAt } = await store.rotate();
    const key = `key ${kid} is published, and signs from ${activeAt.toISOString()} on`;
    return made ? `Done: ${key}.\n` : `Nothing to do: ${key}.\n`;
  }
  const successor = await store.revoke(command.kid);
  const instead = successor ? ` Key ${successor.kid} signs instead.` : '';
  return `Revoked key ${command.kid}: its tokens are rejected within a second.${instead}\n`;
}

/** Formats keys as one JSON array; `published_until` is null until the key has a successor. */
function jsonReport(keys: readonly KeyLife[]): string {
  const lines = keys.map(({ kid, state, createdAt, activeAt, revokedAt, endsAt }) => ({
    kid,
    state,
    created_at: createdAt,
    active_at: activeAt,
    revoked_at: revokedAt,
    published_until: endsAt,
  }));
  return `${JSON.stringify(lines, undefined, 2)}\n`;
}

function tableReport(keys: readonly KeyLife[]): string {
  if (keys.length === 0)
    return 'There is no signing key yet: the service makes the first one when it starts.\n';
  const rows = keys.map(({ kid, state, createdAt, activeAt, endsAt }) => [
    kid,
    state,
    ...[createdAt, activeAt, endsAt].map((time) => time?.toISOString().slice(0, 19).replace('T', ' ') ?? '-'),
  ]);
  return [['kid', 'state', 'made', 'first use', 'published until'], ...rows].map(line).join('');
}

const WIDTHS = [36, 9, 19, 19, 0]; // of a UUID, `published`, and times without the fraction of the second

function line(cells: readonly string[]): string {
  return `${cells.map((cell, i) => cell.padEnd(WIDTHS[i]!)).join('  ')}\n`;
}
