import { callbackify } from 'node:util';
import { Client, type ClientConfig } from 'pg';

/**
 * Settings that change what a statement does or how a result is printed. A role, a database, `PGOPTIONS` or the options of a
 * URL may have set them for other applications. The third column is the pattern of the values that serve as well.
 */
const RELIED_ON: readonly (readonly [name: string, value: string, accepted: string])[] = [
  ['default_transaction_isolation', 'read committed', '^read (un)?committed$'],
  ['session_replication_role', 'origin', '^(origin|local)$'],
  ['standard_conforming_strings', 'on', '^on$'],
  ['array_nulls', 'on', '^on$'],
  ['DateStyle', 'ISO', '^ISO'],
  ['extra_float_digits', '1', '^[123]$'],
  ['client_min_messages', 'notice', '^(debug[1-5]|log|notice|warning)$'], // statement-errors.ts needs the warning
];

/** Limits of time that would end statements or connections of the service. It has its own. */
const NO_LIMITS = ['lock_timeout', 'transaction_timeout', 'idle_session_timeout'] as const;

const PATH = `current_setting('search_path')`;
/** A path that begins with a schema in which no table can be made, or none that lasts. PostgreSQL searches both first anyway. */
const OF_POSTGRES = '^( *"?pg_(catalog|temp)"? *(, *|$))+';
/** SQL condition: the path begins with such a schema. */
export const BEGINS_WITH_POSTGRES = `${PATH} ~ '${OF_POSTGRES}'`;
/** A path that names no schema of the operator's own. */
const NAMES_NONE = `${PATH} ~ '^(pg_catalog|pg_temp|[ ,"]|[$]user)*$'`;
/** The default of PostgreSQL in place of none, and without those that no table can be made in. */
const USABLE_PATH = `
    SELECT set_config('search_path', CASE WHEN ${NAMES_NONE} THEN '"$user", public'
      ELSE regexp_replace(${PATH}, '${OF_POSTGRES}', '') END, false)
    WHERE ${BEGINS_WITH_POSTGRES} OR ${NAMES_NONE} AND current_schema() IS NULL`;

const table = (rows: readonly (readonly string[])[]): string =>
  `(VALUES ${rows.map((row) => `('${row.join("', '")}')`).join(', ')}) AS relied_on (name, value, accepted)`;

/** Names and values of the settings that differ from what the service relies on. */
const DIFFERENT = `
  SELECT name, value, current_setting(name, true) AS found FROM ${table(RELIED_ON)}
  WHERE current_setting(name, true) !~ accepted
  UNION ALL SELECT 'search_path', 'public', ${PATH} WHERE ${BEGINS_WITH_POSTGRES} OR current_schema() IS NULL`;

type Connected = (error: Error, client?: Client) => void;

/** Each connection sets what the service relies on, before its first use: one statement. */
export class SessionClient extends Client {
  private readonly statement: string;

  constructor(config: ClientConfig = {}) {
    super(config);
    this.statement = settingStatement(config);
  }

  override connect(): Promise<Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<Client> | void {
    if (!callback) return this.connectAndSet();
    callbackify(() => this.connectAndSet())(callback);
  }

  private async connectAndSet(): Promise<Client> {
    const ignore = (): void => undefined; // the statement fails as well
    this.on('error', ignore);
    await super.connect();
    try {
      // The query() of a subclass is not used: the time limit for connecting covers this statement.
      await super.query(this.statement);
    } catch (error) {
      super.end().catch(ignore); // pg's pool leaves a connection open that fails here
      throw error;
    }
    this.off('error', ignore);
    return this;
  }
}

/** The limits of the connection itself are set, too: a pooler in session mode may have ignored them as startup parameters. */
function settingStatement(config: ClientConfig): string {
  const { statement_timeout: statement, idle_in_transaction_session_timeout: idle } = config;
  const rows = [
    ...RELIED_ON,
    ...NO_LIMITS.map((name) => [name, '0', '^0$']),
    ['statement_timeout', String(statement || 0), 'always'],
    ['idle_in_transaction_session_timeout', String(idle ?? 0), 'always'],
  ];
  return `
    SELECT set_config(name, value, false) FROM ${table(rows)} WHERE current_setting(name, true) !~ accepted
    UNION ALL ${USABLE_PATH}`;
}

/**
 * Compares the settings behind a pooler in transaction mode, where a session must not be changed.
 *
 * @param query runs one statement by way of the pooler
 * @throws with the name of a setting that has another value, and how to reset it
 */
export async function requireSettings(
  query: (text: string) => Promise<readonly { name: string; value: string; found: string }[]>,
): Promise<void> {
  const [first] = await query(DIFFERENT);
  if (!first) return;
  const { name, value, found } = first;
  throw new Error(
    `the database cannot be used: behind a pooler in transaction mode ${name} is "${found}", and the service needs "${value}"; ` +
      `reset it for the role or the database that has it (ALTER ROLE … RESET ${name}, ALTER DATABASE … RESET ${name}), ` +
      'and let the pooler connect again',
  );
}

// Set for the role, the database or the connection; a server that is configured so is known to its operator.
const LOSES_COMMITS = `
  SELECT setting FROM pg_settings
  WHERE name = 'synchronous_commit' AND source IN ('database', 'user', 'database user', 'client')
    AND (setting = 'off' OR setting = 'local' AND current_setting('synchronous_standby_names') <> '')`;

/** @returns a warning if PostgreSQL confirms commits of the service that a crash or a failover may lose */
export async function commitWarning(
  query: (text: string) => Promise<readonly { setting: string }[]>,
): Promise<string | undefined> {
  const [row] = await query(LOSES_COMMITS);
  return (
    row &&
    `synchronous_commit is ${row.setting} for this role, database or URL: sign-ins, sign-outs and events may be lost if PostgreSQL ` +
      'crashes or fails over. If that is not wanted: ALTER ROLE … RESET synchronous_commit'
  );
}
