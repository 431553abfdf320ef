import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import type { Figure } from '../support/proof.js';
import { byPart, figureTable, withPart } from './document.js';
import { missingFor } from './needs.js';
import { byPromise, PROMISES } from './promises.js';

/*
 * `npm run test:proof -- [--short] [--minutes N] [--write] [words of specs' names]`: runs the experiments of test/proof and the specs
 * of each promise (test/proof/promises.ts; the word `promises` means those), and prints the figures of each. `--short`: their short forms, as in `.ci/nightly`. `--minutes`: for how long those go on that take a time.
 * `--write`: puts the tables of what has run into docs/reliability.md. Where a program is missing that an experiment needs, nothing runs;
 * with `--short` that experiment is skipped.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/reliability.md');

const { values, positionals: words } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (values.write && values.short) throw new Error('--write takes the full figures: not with --short');
const narrowed = ['TIMES', 'STEPS', 'FAULT', 'HISTORY', 'FAILED_AT', 'REPLAY'].filter(
  (name) => process.env[name] !== undefined,
);
if (values.write && narrowed.length > 0) {
  throw new Error(`--write takes whole experiments: not with ${narrowed.join(', ')}`);
}
if (values.minutes !== undefined && !(Number(values.minutes) > 0)) {
  throw new Error(`--minutes takes a number above 0, not ${values.minutes}`);
}
const specs = (words.length === 0 ? ['', 'promises'] : words).flatMap((word) =>
  word === 'promises' ? Object.values(PROMISES).flat() : `test/proof/.*${word}`,
);
if (!values.short) {
  const missing = [...(process.platform === 'linux' ? [] : ['Linux']), ...missingFor(specs)];
  if (missing.length > 0)
    throw new Error(`without ${missing.join(', ')} a part is left out: only with --short`);
}

const directory = mkdtempSync(join(tmpdir(), 'latchkey-proof-'));
try {
  const file = join(directory, 'figures');
  const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', '-w', '1'];
  const began = performance.now();
  const tests = spawn(process.execPath, [...jest, ...specs], {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(!values.short && { CI: '1' }), // nothing is skipped for want of a program
      PROOF: values.short ? '0' : '1',
      PROOF_FIGURES: file,
      ...(values.minutes !== undefined && { PROOF_MINUTES: values.minutes }),
    },
  });
  const [code] = (await once(tests, 'exit')) as [number | null];
  process.exitCode = code ?? 1;

  const parts = byPart(existsSync(file) ? read(file).toSorted(byPromise) : []);
  const command = ['npm run test:proof --', ...process.argv.slice(2).filter((word) => word !== '--write')];
  const typed = command.length > 1 ? command.join(' ') : 'npm run test:proof';
  for (const [part, figures] of parts) {
    process.stdout.write(`\n${part}\n\n${figureTable(figures, typed)}\n`);
  }
  process.stdout.write(`\n${((performance.now() - began) / 60_000).toFixed(1)} minutes\n`);
  if (values.write && code === 0) {
    let text = readFileSync(DOCUMENT, 'utf8');
    for (const [part, figures] of parts) text = withPart(text, part, figureTable(figures, typed));
    writeFileSync(DOCUMENT, await format(text, { ...(await resolveConfig(DOCUMENT)), filepath: DOCUMENT }));
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function read(file: string): Figure[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Figure);
}
