import type { Client } from 'pg';
import { MIGRATIONS } from '../../entities.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { migrate } from '../../platform/database/start/migrate.js';
import {
  dropIndexes,
  inTransaction,
  lockTables,
  requireNoRows,
  storeTables,
  type TableRows,
} from './copy.js';
import type { Schema } from './databases.js';
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

interface Filling extends Schema {
  readonly target: ConnectionTarget;
  /** Runs before the indexes are made. */
  readonly stored?: (client: Client) => Promise<void>;
  /** Runs before the commit. */
  readonly last?: () => Promise<void>;
}

/** Stores rows in empty tables, all or none. @returns number of rows */
export function fill(
  { target, tables, isDistributed, stored, last }: Filling,
  rows: AsyncIterable<TableRows>,
  { signal, progress }: Surroundings,
): Promise<number> {
  return inTransaction(target, 'READ WRITE', signal, async (client) => {
    await lockTables(client, tables);
    await requireNoRows(client, tables);
    // Nodes of a cluster may refuse it in one transaction with rows.
    const makeIndexes = isDistributed ? undefined : await dropIndexes(client, tables);
    const count = await storeTables(client, rows, signal);
    await stored?.(client);
    progress.step('making indexes');
    await makeIndexes?.();
    await last?.();
    return count;
  });
}

export function counted(rows: number): string {
  return rows === 1 ? '1 row' : `${rows.toLocaleString('en')} rows`;
}
