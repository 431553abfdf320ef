import { appendFileSync } from 'node:fs';

/** Whether `npm run test:all -- infra` runs the specs in full; `--short` is what takes a few seconds. */
export const isFull = process.env['INFRA'] === '1';

/** Cost of a fault under load: one row of the table in lab/results/faults.md. */
export interface FaultRow {
  /** What was done to the service, e.g. `primary killed, standby promoted (HAProxy)`. */
  readonly fault: string;
  /** Number of requests sent, and of failed ones. */
  readonly requests: number;
  readonly failed: number;
  /** The longest time without a success, in milliseconds, of the kind of request for which it was longest; left out: not measured. */
  readonly longestGapMs?: number;
  /** Acknowledged tokens and pushes, and how many of them were lost or came twice; undefined if not checked. */
  readonly acknowledged: number;
  readonly lost?: number;
  readonly doubled?: number;
  /** What a reader has to know besides. */
  readonly notes?: string;
}

/** Prints a row at once, and hands it to `npm run test:all -- infra` (test/infra/main.ts) for its table. */
export function reportFault(row: FaultRow): void {
  const { fault, requests, failed, longestGapMs, acknowledged, lost = '?', doubled = '?', notes } = row;
  const gap = longestGapMs?.toFixed(0) ?? '?';
  const costs = `${failed} of ${requests} requests failed, longest gap ${gap} ms`;
  const kept = `${acknowledged} acknowledged, ${lost} lost, ${doubled} doubled`;
  process.stdout.write(`  fault: ${fault}: ${costs}; ${kept}${notes ? ` (${notes})` : ''}\n`);
  const file = process.env['INFRA_ROWS'];
  const spec = expect.getState().testPath;
  if (file) appendFileSync(file, `${JSON.stringify({ spec, ...row })}\n`);
}
