import { Client } from 'pg';
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.js';

// `now()` and its kin, found before those of pg_catalog because the search path names that one last. What the migrations make
// with a default of `now()` uses them as well, and all transactions, on all instances, see one time until it is turned.
const FUNCTIONS = ['now', 'clock_timestamp', 'statement_timestamp', 'transaction_timestamp'];
const STOPPED = `
  CREATE SCHEMA turned;
  CREATE TABLE turned.clock (at timestamptz NOT NULL);
  ${FUNCTIONS.map(
    (name) => `
  CREATE FUNCTION turned.${name}() RETURNS timestamptz LANGUAGE plpgsql STABLE
    AS 'BEGIN RETURN (SELECT at FROM turned.clock); END';`,
  ).join('')}`;

/** The clock of a database, which stands still until it is set. */
export class StoppedClock {
  readonly databaseUrl: string;

  private constructor(
    private readonly database: TestDatabase,
    private readonly client: Client,
    /** Milliseconds since the epoch. */
    private time: number,
  ) {
    this.databaseUrl = database.url;
  }

  static async start(): Promise<StoppedClock> {
    const database = await createEmptyDatabase();
    const client = new Client(database.url);
    await client.connect();
    const name = new URL(database.url).pathname.slice(1);
    await client.query(STOPPED);
    await client.query(`ALTER DATABASE ${name} SET search_path = public, turned, pg_catalog`);
    await client.query('INSERT INTO turned.clock VALUES (now())');
    const clock = new StoppedClock(database, client, Date.now());
    await clock.turnTo(clock.time);
    return clock;
  }

  readonly now = (): number => this.time;

  async turnTo(time: number): Promise<void> {
    this.time = time;
    await this.client.query('UPDATE turned.clock SET at = $1', [new Date(time).toISOString()]);
  }

  async stop(): Promise<void> {
    await this.client.end();
    await this.database.close();
  }
}
