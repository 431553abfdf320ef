import { callbackify } from 'node:util';
import { Client, type ClientConfig } from 'pg';
import type { DataSource } from 'typeorm';

/** Settings that change meanings of statements or formats of results: name, value, accepted pattern. */
const RELIED_ON: readonly (readonly [name: string, value: string, accepted: string])[] = [
  ['default_transaction_isolation', 'read committed', '^read (un)?committed$'],
  ['session_replication_role', 'origin', '^(origin|local)$'],
  ['standard_conforming_strings', 'on', '^on$'],
  ['array_nulls', 'on', '^on$'],
  ['DateStyle', 'ISO', '^ISO'],
  ['extra_float_digits', '1', '^[123]$'],
  // limited-client.ts needs the warning
  ['client_min_messages', 'notice', '^(debug[1-5]|log|notice|warning)$'],
];

/** Time-outs that would end statements or connections of the service. */
const NO_LIMITS = ['lock_timeout', 'transaction_timeout', 'idle_session_timeout'] as const;

const table = (rows: readonly (readonly string[])[]): string =>
  `(VALUES ${rows.map((row) => `('${row.join("', '")}')`).join(', ')}) AS relied_on (name, value, accepted)`;

type Connected = (error: Error, client?: Client) => void;

/** Sets what the service relies on before the first use of a connection, in one statement. */
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
    const ignore = (): void => undefined; // the statement rejects, too
    this.on('error', ignore);
    await super.connect();
    try {
      // Not the query() of a subclass: the time-out of connecting covers this statement.
      await super.query(this.statement);
    } catch (error) {
      super.end().catch(ignore); // pg's pool would leave the connection open
      throw error;
    }
    this.off('error', ignore);
    return this;
  }
}

/** Includes the connection's time-outs: a pooler in session mode may have ignored the startup parameters. */
function settingStatement(config: ClientConfig): string {
  const { statement_timeout: statement, idle_in_transaction_session_timeout: idle } = config;
  const rows = [
    ...RELIED_ON,
    ...NO_LIMITS.map((name) => [name, '0', '^0$']),
    ['statement_timeout', String(statement || 0), 'always'],
    ['idle_in_transaction_session_timeout', String(idle ?? 0), 'always'],
  ];
  return `
    SELECT set_config(name, value, false) FROM ${table(rows)} WHERE current_setting(name, true) !~ accepted`;
}

// Of commits, only for role, database or connection: the operator knows the server's configuration.
const FINDINGS = `
  SELECT name, value, current_setting(name, true) AS found FROM ${table(RELIED_ON)}
  WHERE current_setting(name, true) !~ accepted
  UNION ALL
  SELECT name, NULL, setting FROM pg_settings
  WHERE name = 'synchronous_commit' AND source IN ('database', 'user', 'database user', 'client')
    AND (setting = 'off' OR setting = 'local' AND current_setting('synchronous_standby_names') <> '')`;

/**
 * Checks the settings of a connection.
 * @returns a warning if PostgreSQL confirms commits that a crash or a failover may lose
 * @throws if a setting changes results: behind a pooler in transaction mode, its sessions must not be changed
 */
export async function checkSettings(dataSource: DataSource): Promise<string | undefined> {
  type Finding = { name: string; value: string | null; found: string };
  const findings = await dataSource.query<Finding[]>(FINDINGS); // raw: of no table
  const different = findings.find(({ value }) => value !== null);
  if (different) {
    const { name, value, found } = different;
    throw new Error(
      `the database cannot be used: behind a pooler in transaction mode ${name} is "${found}", and the service needs "${value}"; ` +
        `reset it for the role or the database that has it (ALTER ROLE … RESET ${name}, ALTER DATABASE … RESET ${name}), ` +
        'and let the pooler connect again',
    );
  }
  const [commit] = findings;
  return (
    commit &&
    `synchronous_commit is ${commit.found} for this role, database or URL: sign-ins, sign-outs and events may be lost if PostgreSQL ` +
      'crashes or fails over. If that is not wanted: ALTER ROLE … RESET synchronous_commit'
  );
}
