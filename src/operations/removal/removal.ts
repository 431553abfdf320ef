import { setTimeout as delay } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Background } from '../../platform/background.js';
import { errorCode } from '../../platform/errors/error-facts.js';
import { isDatabaseAway } from '../../platform/errors/database-error.js';
import { Events } from '../../platform/events.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { ExpiredRows, expiringTables, type ExpiringTable } from './expired-rows.js';

/** Failures in a row that end a table's run: a user with many tokens, on a distributed database. */
const MOST_FAILURES = 20;
/** A batch grows only after one that was faster, so that it stays below the statement timeout (950 ms). */
const QUICK_MS = 300;
const LONGEST_PAUSE_MS = 1000; // a shutdown waits for the pause between two batches

@Injectable()
export class Removal implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Removal.name);
  private readonly tables: readonly ExpiringTable[];
  /** Expiry at which the next run of a table begins if the last one failed: rows behind must not wait. */
  private readonly resumeAt = new Map<string, string>();
  private stopping = false;

  constructor(
    private readonly rows: ExpiredRows,
    private readonly dataSource: DataSource,
    private readonly events: Events,
    @Inject(SETTINGS) settings: Pick<Settings, 'auditRetentionDays'>,
    private readonly background: Background,
  ) {
    this.tables = expiringTables(dataSource, settings);
  }

  /** Tables that are marked as `first` are removed separately: they never wait for other tables. */
  onApplicationBootstrap(): void {
    const { tables } = this;
    this.background.repeat('remove-first-rows', () => this.run(tables.filter(({ first }) => first)));
    this.background.repeat('remove-other-rows', () => this.run(tables.filter(({ first }) => !first)));
  }

  /** Waits for the current batch: the connection pool is closed only after this. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await Promise.all([this.background.stop('remove-first-rows'), this.background.stop('remove-other-rows')]);
  }

  /** Removes all expired rows; a table that fails waits for the next run. @returns counts by table */
  async run(tables = this.tables): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const table of tables) {
      const began = performance.now();
      let [removed, ok] = [0, true];
      try {
        removed = await this.remove(table);
        if (removed > 0) counts[table.table] = removed;
      } catch (error) {
        ok = false;
        this.logger.warn({ err: error, table: table.table, msg: 'expired rows could not be removed' });
      }
      const seconds = (performance.now() - began) / 1000;
      this.events.emit('removal.done', { table: table.table, removed, ok, seconds });
    }
    if (Object.keys(counts).length > 0) this.logger.debug({ removed: counts });
    return counts;
  }

  /**
   * Repeats a batch that fails with fewer rows, down to one, which is then passed over. Pauses as long as a
   * batch took, so that requests have at least half of the database.
   */
  private async remove(table: ExpiringTable): Promise<number> {
    let [total, size, failures] = [0, this.rows.size, 0];
    let from: string | null = this.resumeAt.get(table.table) ?? '-infinity';
    this.resumeAt.delete(table.table);
    while (from !== null && !this.stopping) {
      const began = performance.now();
      try {
        const { removed, next } = await this.rows.removeBatch(table, size, from);
        total += removed;
        from = next;
        failures = 0;
        if (performance.now() - began < QUICK_MS) size = Math.min(2 * size, this.rows.largest);
      } catch (error) {
        if (!mayDoWithFewer(error)) throw error;
        if (++failures > MOST_FAILURES) {
          this.resumeAt.set(table.table, from!);
          throw error;
        }
        if (size === 1) {
          from = await this.findBehindOldest(table, from!);
          const msg = 'skips an expired row that cannot be removed';
          this.logger.warn({ err: error, table: table.table, msg });
        }
        size = Math.max(1, Math.floor(size / 8));
      }
      if (from !== null) await delay(Math.min(performance.now() - began, LONGEST_PAUSE_MS));
    }
    return total;
  }

  private async findBehindOldest(
    { table, column = 'expires_at', until = 'now()' }: ExpiringTable,
    from: string,
  ): Promise<string | null> {
    // Raw: the table is any one with an expiry.
    const [oldest] = await this.dataSource.query<{ behind: string | null }[]>(
      `SELECT (min(${column}) + interval '1 microsecond')::text AS behind
       FROM ${table} WHERE ${column} >= $1::timestamptz AND ${column} < ${until}`,
      [from],
    );
    return oldest!.behind;
  }
}

/** Whether a statement may succeed with fewer rows: it took too long (57014), or the server refused a row. */
function mayDoWithFewer(error: unknown): boolean {
  const code = errorCode(error);
  if (code === '57014') return true; // query_canceled
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !isDatabaseAway(error);
}
