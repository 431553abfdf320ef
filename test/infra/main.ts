import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { FaultRow } from './faults.js';

/*
 * `npm run test:all -- infra [--short] [--write] [words of specs' names]`: tries faults of the infrastructure, and prints a table of
 * what each has cost. `--short`: the quick form, a minute. `--write`: puts the table into lab/results/faults.md.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENT = join(ROOT, 'lab/results/faults.md');
const HEAD = ['Fault', 'Failed requests', 'Longest gap', 'Acknowledged tokens and pushes', 'Lost', 'Doubled'];
const START = '<!-- faults:start -->';
const END = '<!-- faults:end -->';
/** Of a test: it counts requests, for which a busy machine takes ten times as long. */
const LONGEST_MS = 900_000;

const { values, positionals: words } = parseArgs({
  options: { short: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
  allowPositionals: true,
});
if (values.write && (values.short || words.length > 0))
  throw new Error('--write takes the whole table: not with --short, nor with some of the specs');

const directory = mkdtempSync(join(tmpdir(), 'latchkey-infra-'));
try {
  const rowsFile = join(directory, 'rows');
  const runner = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', '-w', '1'];
  const jest = [...runner, `--testTimeout=${LONGEST_MS}`];
  const specs = words.length > 0 ? words.map((word) => `test/infra/.*${word}`) : ['test/infra/'];
  const began = performance.now();
  const tests = spawn(process.execPath, [...jest, ...specs], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, INFRA: values.short ? '0' : '1', INFRA_ROWS: rowsFile },
  });
  const [code] = (await once(tests, 'exit')) as [number | null];
  process.exitCode = code ?? 1;

  const table = faultTable(existsSync(rowsFile) ? read(rowsFile) : [], values.short);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  process.stdout.write(`\n${table}\n\n${minutes} minutes\n`);
  if (values.write && code === 0) {
    writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8'), table));
    spawnSync('npm', ['run', '--silent', 'format', '--', DOCUMENT], { stdio: 'inherit' });
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** In the order of the specs' names. */
function read(file: string): FaultRow[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as FaultRow & { spec: string });
  return rows.toSorted((one, other) => one.spec.localeCompare(other.spec));
}

/** The rows as a table in Markdown, after a line that says when and on what they were measured. */
function faultTable(rows: readonly FaultRow[], short: boolean): string {
  const processors = cpus();
  const day = new Date().toISOString().slice(0, 10);
  const command = `npm run test:all -- infra${short ? ' --short' : ''}`;
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
function withTable(document: string, table: string): string {
  const [before, rest] = document.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the document needs the marks ${START} and ${END}`);
  return `${before}${START}\n\n${table}\n\n${END}${after}`;
}
