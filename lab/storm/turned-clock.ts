import { Clock } from '../../src/database/clock.js';
import { KeyService } from '../../src/token/keys/key.service.js';
import { query } from '../../test/support/database.js';
import type { TestService } from '../../test/support/service.js';

/**
 * A database's clock that a test can turn forward. The service's time is its database's
 * (docs/security-model.md#protection-of-a-session), so this is the true time of the storm: `now()` and
 * `clock_timestamp()` are found in a schema that comes before pg_catalog.
 */
export class TurnedClock {
  /** Since when it has been how far ahead of the machine's; milliseconds, the last one now. */
  private readonly turns: { readonly since: number; readonly ahead: number }[] = [{ since: 0, ahead: 0 }];

  private constructor(
    private readonly ownUrl: string,
    /** What services connect to, so that they see the turned clock. */
    readonly url: string,
  ) {}

  static async of(databaseUrl: string): Promise<TurnedClock> {
    await query(
      databaseUrl,
      `CREATE SCHEMA turned;
       CREATE TABLE turned.ahead (by) AS SELECT interval '0';
       CREATE FUNCTION turned.now() RETURNS timestamptz STABLE LANGUAGE sql
         AS 'SELECT pg_catalog.now() + by FROM turned.ahead';
       CREATE FUNCTION turned.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
         AS 'SELECT pg_catalog.clock_timestamp() + by FROM turned.ahead';
       DO $$ DECLARE one record; BEGIN -- defaults were bound to PostgreSQL's own when the tables were made
         FOR one IN SELECT table_name, column_name FROM information_schema.columns
           WHERE table_schema = 'public' AND column_default = 'now()'
         LOOP EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT turned.now()', one.table_name, one.column_name);
         END LOOP;
       END $$`,
    );
    const url = new URL(databaseUrl);
    url.searchParams.set('options', '-c search_path=public,turned,pg_catalog');
    return new TurnedClock(databaseUrl, url.href);
  }

  /** The true time of a moment of this machine's clock; milliseconds since the epoch. */
  at(moment: number): number {
    return moment + this.turns.findLast(({ since }) => since <= moment)!.ahead;
  }

  /** By how much it has been turned in all; milliseconds. */
  get ahead(): number {
    return this.turns.at(-1)!.ahead;
  }

  /**
   * Turns it forward. The services, which look every 10 s, are told at once. They have read the keys, too, as they do twice a second:
   * a new one signs ten minutes after it was made, which may be over now.
   */
  async turn(milliseconds: number, services: readonly TestService[]): Promise<void> {
    const readKeys = async (): Promise<void> => {
      const keys = services.map(({ app }) => app.get(KeyService));
      for (const one of keys) clearTimeout(one['nextReading']); // it schedules the next one by itself
      await Promise.all(keys.map((one) => one['turn']()));
    };
    await readKeys();
    const ahead = this.ahead + milliseconds;
    await query(this.ownUrl, `UPDATE turned.ahead SET by = $1 * interval '1 millisecond'`, [ahead]);
    this.turns.push({ since: Date.now(), ahead });
    const clocks = services.map(({ app }) => app.get<Clock, { measure(): Promise<void> }>(Clock));
    await Promise.all(clocks.map((clock) => clock.measure()));
    await readKeys();
  }
}
