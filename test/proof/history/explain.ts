import type { Violation } from './violation.js';

const MOST = 10;

/** The first violations with the entries that show them, for whoever has to find out why. */
export function explain(violations: readonly Violation[], path: string): string {
  const shown = violations
    .slice(0, MOST)
    .map(({ rule, text, entries }) =>
      [`${rule}: ${text}`, ...entries.map((entry) => `    ${JSON.stringify(entry)}`)].join('\n'),
    );
  return [`${violations.length} violations in ${path}; check it again: HISTORY=${path}`, ...shown].join('\n');
}
