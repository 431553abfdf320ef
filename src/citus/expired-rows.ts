import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  ExpiredRows,
  REMOVAL_LOCK,
  type Batch,
  type ExpiringTable,
} from '../operations/removal/expired-rows.js';

// Raw: the table is any one with an expiry, and the lock belongs to no table.
const buildSpan = ({ table, column = 'expires_at', until = 'now()' }: ExpiringTable): string => `
  SELECT min(${column})::text AS "from", (min(${column}) + make_interval(secs => $2))::text AS "to"
  FROM ${table} WHERE ${column} >= $1::timestamptz AND ${column} < ${until}`;

const buildRemoval = ({ table, column = 'expires_at', until = 'now()', unless }: ExpiringTable): string => `
  DELETE FROM ${table}
  WHERE ${column} >= $1::timestamptz AND ${column} < least(${until}, $2::timestamptz) AND ${unless?.mayGo ?? 'true'}`;

/**
 * Removes expired rows on Citus, which cannot lock the oldest rows of all nodes. A batch is what expired
 * within `size` milliseconds.
 */
@Injectable()
export class TimeSlices extends ExpiredRows {
  readonly size = 30_000;
  readonly largest = 24 * 60 * 60_000;

  constructor(private readonly dataSource: DataSource) {
    super();
  }

  removeBatch(table: ExpiringTable, size: number, from: string): Promise<Batch> {
    return this.dataSource.transaction(async (manager) => {
      const [lock] = await manager.query<{ is_ours: boolean }[]>(
        'SELECT pg_try_advisory_xact_lock($1, hashtext($2)) AS is_ours',
        [REMOVAL_LOCK, table.table],
      );
      const [span] = await manager.query<{ from: string | null; to: string }[]>(buildSpan(table), [
        from,
        size / 1000,
      ]);
      if (!lock!.is_ours || span!.from === null) return { removed: 0, next: null };
      const [, removed] = await manager.query<[unknown, number]>(buildRemoval(table), [span!.from, span!.to]);
      return { removed, next: span!.to };
    });
  }
}
