import {
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Sql } from '../database/statements/sql.js';
import { Events } from '../events.js';
import { removeSlices } from './expired-slices.js';
import {
  BATCH,
  expiredRows,
  mayDoWithFewer,
  MOST_FAILURES,
  type Batch,
  type ExpiredRows,
  type Look,
} from './expired-rows.js';
import { restAfter } from './rest.js';

/** What has expired is gone within a minute (contract §5), whichever instance's turn it is. */
const EVERY_MS = 30_000;

/** Removes what has expired, in small batches, beside other instances. */
@Injectable()
export class Removal implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Removal.name);
  private readonly tables: readonly ExpiredRows[];
  private readonly timers = new Map<boolean, NodeJS.Timeout>();
  private readonly running = new Map<boolean, Promise<unknown>>();
  private stopping = false;
  /** Where the next run of a table begins, if the last one ended among rows that cannot be removed. */
  private readonly startOf = new Map<string, string>();

  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    private readonly events: Events,
  ) {
    this.tables = expiredRows(dataSource);
  }

  /** What must go first has a run of its own: however much there is of the rest, it waits for none of it. */
  onApplicationBootstrap(): void {
    for (const first of [true, false]) this.runLater(first);
  }

  /** Waits for the batch that is running: the connection pool is closed only after this. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    await Promise.all(this.running.values());
  }

  /**
   * Removes all that has expired by the database's clock.
   * A table that fails is left for the next time.
   * @returns how many rows were removed from each table, where there were any.
   */
  async run(tables = this.tables): Promise<Record<string, number>> {
    const removed: Record<string, number> = {};
    for (const rows of tables) {
      const { table } = rows;
      const began = performance.now();
      const tell = (ok: boolean, count: number): void => {
        const seconds = (performance.now() - began) / 1000;
        this.events.emit('removal.done', { table, removed: count, ok, seconds });
      };
      try {
        const count = await (this.sql.distributed ? this.removeSlices(rows) : this.remove(rows));
        if (count > 0) removed[table] = count;
        tell(true, count);
      } catch (error) {
        this.logger.warn({ err: error, table, msg: 'what has expired could not be removed' });
        tell(false, 0);
      }
    }
    if (Object.keys(removed).length > 0) this.logger.debug({ removed });
    return removed;
  }

  /**
   * Halves a batch that fails, down to one row. If one row fails as well, the run continues behind it: rows that cannot be removed
   * must not keep other rows.
   */
  private async remove(rows: ExpiredRows): Promise<number> {
    const { table } = rows;
    let [total, size, failures] = [0, BATCH, 0];
    let next = this.startOf.get(table) ?? '-infinity';
    this.startOf.delete(table);
    while (!this.stopping) {
      const began = performance.now();
      try {
        const batch = await this.removeBatch(rows, size, next);
        total += batch.removed;
        if (batch.seen < size) break;
        next = batch.next!;
        size = Math.min(2 * size, BATCH);
        failures = 0;
      } catch (error) {
        if (!mayDoWithFewer(error)) throw error;
        if (++failures > MOST_FAILURES) {
          this.startOf.set(table, next);
          throw error;
        }
        const [{ seen, behind }] = (await this.sql.query(rows.look, [next])) as [Look];
        if (seen === 0) break;
        if (Math.min(seen, size) === 1) {
          this.passOver(table, error);
          next = behind!;
        }
        size = Math.ceil(Math.min(seen, size) / 2);
      }
      await restAfter(performance.now() - began);
    }
    return total;
  }

  private async removeBatch(
    { removeBatch, removeFewer }: ExpiredRows,
    size: number,
    next: string,
  ): Promise<Batch> {
    const statement = size === BATCH ? removeBatch : removeFewer(size);
    const [batch] = await this.sql.query<Batch>(statement, [next]);
    return batch!;
  }

  private removeSlices(rows: ExpiredRows): Promise<number> {
    const passedOver = (error: unknown): void => this.passOver(rows.table, error);
    return removeSlices(this.dataSource, rows, () => this.stopping, restAfter, passedOver, this.startOf);
  }

  private passOver(table: string, error: unknown): void {
    this.logger.warn({ err: error, table, msg: 'an expired row could not be removed, and is passed over' });
  }

  /** A quarter more or less, so that instances that were started together do not always compete. */
  private runLater(first: boolean): void {
    const run = async (): Promise<void> => {
      await this.run(this.tables.filter((table) => table.first === first));
      if (!this.stopping) this.runLater(first);
    };
    const ms = EVERY_MS * (0.75 + Math.random() / 2);
    this.timers.set(first, setTimeout(() => this.running.set(first, run()), ms).unref());
  }
}
