import type { TableRows } from './copy.js';

const TERMINAL_MS = 1000;
const ELSEWHERE_MS = 10_000;

/** Reports rows while they are copied: lines at a terminal, else JSON. */
export class Progress {
  private readonly startedAt = Date.now();
  private reportedAt = this.startedAt;

  constructor(private readonly output: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>) {}

  get seconds(): number {
    return Math.round((Date.now() - this.startedAt) / 1000);
  }

  /** Passes the rows of tables on. */
  async *watch(tables: AsyncIterable<TableRows>): AsyncGenerator<TableRows> {
    let before = 0;
    for await (const { table, data, count } of tables) {
      yield { table, data: this.watchRows(data, () => this.report(table.name, before + count())), count };
      before += count();
    }
  }

  /** Reports at a terminal what takes a while. */
  step(name: string): void {
    if (this.output.isTTY) this.output.write(`${name}, ${this.seconds} s\n`);
  }

  private async *watchRows(data: AsyncIterable<Buffer>, report: () => void): AsyncGenerator<Buffer> {
    for await (const chunk of data) {
      report();
      yield chunk;
    }
  }

  private report(table: string, rows: number): void {
    const now = Date.now();
    if (now - this.reportedAt < (this.output.isTTY ? TERMINAL_MS : ELSEWHERE_MS)) return;
    this.reportedAt = now;
    const { seconds } = this;
    this.output.write(
      this.output.isTTY
        ? `${table}: ${rows.toLocaleString('en')} rows in all, ${seconds} s\n`
        : `${JSON.stringify({ table, rows, seconds })}\n`,
    );
  }
}
