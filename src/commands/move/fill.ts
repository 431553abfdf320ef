import type { Client } from 'pg';
import { MIGRATIONS } from '../../entities.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { migrate } from '../../platform/database/start/migrate.js';
import { inTransaction, lockTables, requireNoRows, storeTables, type Table, type TableRows } from './copy.js';
import type { Progress } from './progress.js';

const MIGRATION_MS = 30_000;

/** What a command works with. */
export interface Surroundings {
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** Prints a line of the result. */
  readonly print: (line: string) => void;
  readonly progress: Progress;
}

/** Applies the migrations of these names. This version has all of them. */
export async function makeTables(target: ConnectionTarget, names: readonly string[], signal: AbortSignal) {
  const migrations = MIGRATIONS.filter(({ name }) => names.includes(name));
  const retries = { timeoutMs: MIGRATION_MS, signal, log: () => undefined };
  await migrate({ ...dataSourceOptions(target, 1), migrations }, retries);
}

interface Filling {
  readonly target: ConnectionTarget;
  readonly tables: readonly Table[];
  readonly signal: AbortSignal;
}

/**
 * Stores rows in empty tables, all or none. @param last runs before the commit
 * @returns number of rows
 */
export function fill(
  { target, tables, signal }: Filling,
  rows: AsyncIterable<TableRows>,
  last: (client: Client) => Promise<void>,
): Promise<number> {
  return inTransaction(target, 'READ WRITE', signal, async (client) => {
    await lockTables(client, tables);
    await requireNoRows(client, tables);
    const count = await storeTables(client, rows, signal);
    await last(client);
    return count;
  });
}

export function counted(rows: number): string {
  return rows === 1 ? '1 row' : `${rows.toLocaleString('en')} rows`;
}
