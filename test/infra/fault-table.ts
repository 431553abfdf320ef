import { cpus } from 'node:os';
import type { FaultRow } from '../support/faults.js';

const HEAD = ['Fault', 'Failed requests', 'Longest gap', 'Acknowledged tokens and pushes', 'Lost', 'Doubled'];
const START = '<!-- faults:start -->';
const END = '<!-- faults:end -->';

/** The rows as a table in Markdown, after a line that says when and on what they were measured. */
export function faultTable(rows: readonly FaultRow[], short: boolean): string {
  const processors = cpus();
  const day = new Date().toISOString().slice(0, 10);
  const command = `npm run test:infra${short ? ' -- --short' : ''}`;
  const measured = `Written by \`${command}\` on ${day}: ${processors.length} × ${processors[0]?.model}, Node.js ${process.version}, everything on one machine.`;
  const lines = [HEAD, HEAD.map((_, i) => (i === 0 ? '---' : '---:')), ...rows.map(cells)];
  return `${measured}\n\n${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}`;
}

function cells(row: FaultRow) {
  const { fault, requests, failed, longestGapMs, acknowledged, lost = '–', doubled = '–', notes } = row;
  const gap = longestGapMs === undefined ? '–' : `${(longestGapMs / 1000).toFixed(1)} s`;
  return [
    notes ? `${fault} (${notes})` : fault,
    `${failed} of ${requests}`,
    gap,
    acknowledged,
    lost,
    doubled,
  ];
}

/**
 * Puts the table into a document, between its two marks.
 * @throws Error when the document has no such marks
 */
export function withTable(document: string, table: string): string {
  const [before, rest] = document.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the document needs the marks ${START} and ${END}`);
  return `${before}${START}\n\n${table}\n\n${END}${after}`;
}
