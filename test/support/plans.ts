import pg from 'pg';
import { query } from './database.js';

/** A node of a plan, as `EXPLAIN (ANALYZE, FORMAT JSON)` prints it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly PlanNode[];
  readonly [member: string]: unknown;
}

/** A statement as it was run, and its plan. */
export interface RunStatement {
  readonly text: string;
  readonly milliseconds: number;
  /** The tables that it read as a whole. */
  readonly scanned: readonly string[];
  /** Rows that the busiest node of the plan has looked at, in all its loops. */
  readonly rows: number;
}

/**
 * Makes PostgreSQL report the plan of each statement of a database, with the rows that it had (auto_explain, part of PostgreSQL).
 * @returns the statements of connections that the service opens from now on
 */
export async function reportPlans(
  databaseUrl: string,
): Promise<{ readonly statements: RunStatement[]; readonly stop: () => void }> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice', // sent to the client
    'auto_explain.log_parameter_max_length': '0',
  };
  for (const [setting, value] of Object.entries(settings))
    await query(databaseUrl, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  const statements: RunStatement[] = [];
  const { prototype } = pg.Client;
  const connect = Object.getOwnPropertyDescriptor(prototype, 'connect')!.value as (
    ...args: unknown[]
  ) => unknown;
  prototype.connect = function (this: pg.Client, ...args: unknown[]) {
    if (this.constructor === pg.Client) return connect.apply(this, args); // a test's own
    this.on('notice', ({ message = '' }) => {
      const [, milliseconds, json] = /^duration: ([\d.]+) ms {2}plan:\s+(\{.*)$/s.exec(message) ?? [];
      if (json !== undefined)
        statements.push(statementOf(Number(milliseconds), JSON.parse(json) as Explained));
    });
    return connect.apply(this, args);
  } as typeof prototype.connect;
  return { statements, stop: () => void (prototype.connect = connect as typeof prototype.connect) };
}

interface Explained {
  readonly 'Query Text': string;
  readonly Plan: PlanNode;
}

function statementOf(milliseconds: number, { 'Query Text': text, Plan }: Explained): RunStatement {
  const nodes = allOf(Plan);
  return {
    text,
    milliseconds,
    scanned: nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? [node['Relation Name']!] : [])),
    rows: Math.max(...nodes.map(rowsOf)),
  };
}

function allOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allOf)];
}

/** With those that a filter or a join has removed. */
function rowsOf(node: PlanNode): number {
  const removed = Object.entries(node).filter(([member]) => member.startsWith('Rows Removed by'));
  const rows = removed.reduce((sum, [, count]) => sum + (count as number), node['Actual Rows']);
  return Math.round(rows * node['Actual Loops']);
}
