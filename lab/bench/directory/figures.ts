import type { Client } from 'pg';

const TABLES = ['directory_users', 'directory_groups', 'directory_members', 'directory_links'];

/** p50, p99 and the maximum of some times, in milliseconds. */
export function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms`;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? NaN) + (sorted[sorted.length >> 1] ?? NaN)) / 2;
}

export function print(what: string, figure: string | number): void {
  const text =
    typeof figure === 'number' ? figure.toLocaleString('en', { maximumFractionDigits: 2 }) : figure;
  console.log(`  ${what.padEnd(44)} ${text}`);
}

/** Rows and bytes of the tables, with their indexes. */
export async function printTables(admin: Client): Promise<void> {
  for (const table of TABLES) {
    const { rows } = await admin.query<{ rows: number; bytes: number }>(
      `SELECT count(*)::int AS rows, pg_total_relation_size('${table}')::float8 AS bytes FROM ${table}`,
    );
    const { rows: count, bytes } = rows[0]!;
    const each = count > 0 ? `, ${Math.round(bytes / count)} each` : '';
    print(table, `${count.toLocaleString('en')} rows, ${(bytes / 2 ** 20).toFixed(1)} MiB${each}`);
  }
}

/** Rows that statements have read of the directory's tables, by their statistics. */
export async function rowsRead(admin: Client): Promise<number> {
  await admin.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await admin.query<{ n: number }>(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 AS n
     FROM pg_stat_user_tables WHERE relname LIKE 'directory%' OR relname = 'users'`,
  );
  return rows[0]!.n;
}
