import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Client } from 'pg';
import type { Options } from './options.js';

const DOCUMENT = 'docs/benchmark.md';

export class Report {
  /** What stands in each place: when, where and how it was measured, then the tables. */
  private readonly blocks = new Map<string, string[]>();
  private machine = '';
  private turns = '';

  /** Prints what is compared, on which machine, and with which settings. */
  async heading(text: string, options: Options, admin: Client): Promise<void> {
    const { mode, sessions, rounds, seconds, logLevel } = options;
    const result = await admin.query<{ version: string }>(
      `SELECT split_part(current_setting('server_version'), ' ', 1) AS version`,
    );
    const date = new Date().toISOString().slice(0, 10);
    const system = `${availableParallelism()} cores, Node ${process.versions.node}, PostgreSQL ${result.rows[0]!.version}`;
    const filled = mode === 'growth' ? '' : `${sessions[0]} sessions, `; // growth tells them in its tables
    this.machine = `${date}: ${system}; ${filled}`;
    this.turns = `medians of ${rounds} rounds of ${seconds} s`;
    console.log(`
${text}
Only ratios mean something, and only within one table; they are taken round by round. µs are CPU time a request.
PostgreSQL has fsync and synchronous_commit on. LOG_LEVEL=${logLevel}.
${this.machine}${this.turns}`);
  }

  /**
   * @param block the place in the document; several tables may share one
   * @param turns how it was measured, if not in the rounds that the options say
   */
  add(block: string, table: string, turns = this.turns): void {
    console.log(`\n${table}`);
    this.blocks.set(block, [...(this.blocks.get(block) ?? [this.machine + turns]), table]);
  }

  /** Writes what was added into docs/benchmark.md ; what was not measured stays as it was. */
  write(): void {
    let document = readFileSync(DOCUMENT, 'utf8');
    for (const [name, tables] of this.blocks) {
      const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
      const [from, to] = [document.indexOf(begin), document.indexOf(end)];
      if (from < 0 || to < from) throw new Error(`${DOCUMENT} has no marks for ${name}`);
      const block = `\n\n\`\`\`text\n${tables.join('\n\n')}\n\`\`\`\n\n`;
      document = document.slice(0, from) + begin + block + document.slice(to);
    }
    writeFileSync(DOCUMENT, document);
  }
}
