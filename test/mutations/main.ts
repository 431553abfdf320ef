import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { figureTable, withPart } from '../proof/document.js';
import globalSetup from '../support/global-setup.js';
import globalTeardown from '../support/global-teardown.js';
import { instrument } from './instrument.js';
import { Judge } from './judge.js';
import { Results } from './results.js';
import { specsThatSeeMutants } from './specs.js';
import { figuresOf, holds, judgedOf, linesByFile, survivorLines, survivorPage } from './summary.js';

/*
 * `npm run test:mutations -- [words of sources' names]`: changes src/auth, src/provider and src/token in thousands of small ways,
 * one at a time, and tells which of them no test notices (docs/reliability.md). What is known is kept (`--results`), so that a run
 * goes on where another one was ended, and tries again only what has changed since.
 *
 * `--spec WORD` (several times): only these specs. `--workers N`: Jests at once. `--budget S`: after so many seconds a mutant
 * has to wait for the next run. `--list`: the survivors. `--report`: runs nothing, tells what is known. `--write`: docs. It ends with
 * 1 where fewer are killed than are wanted, or some are not tried on all tests yet.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ROOMS = ['auth', 'provider', 'token'];

const { values, positionals: words } = parseArgs({
  options: {
    results: { type: 'string', default: join(ROOT, 'node_modules/.cache/latchkey/mutations.json') },
    spec: { type: 'string', multiple: true, default: [] },
    workers: { type: 'string', default: '2' },
    budget: { type: 'string', default: '120' },
    list: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (values.write && (words.length > 0 || values.spec.length > 0)) {
  throw new Error('--write takes the figures of all sources and specs');
}

let needsDatabase = false;
const sources = mkdtempSync(join(tmpdir(), 'latchkey-mutations-'));
process.env['MUTATIONS_SOURCES'] = sources;
process.env['UNTIL_MS'] = '4000'; // as long as test/support/until.ts waits for what never comes true
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().then(() => process.exit(1)));
try {
  const isNamed = (file: string): boolean => words.length === 0 || words.some((word) => file.includes(word));
  // What all specs reach is kept for all sources at once; for some specs it takes seconds less to change only what was asked for.
  const all = await instrument(ROOT, ROOMS, sources, (file) => values.spec.length === 0 || isNamed(file));
  const mutants = all.filter(({ file }) => isNamed(file));
  const results = new Results(values.results, (file) => hash(readFileSync(join(ROOT, file), 'utf8')));
  if (!values.report) {
    const specs = specsThatSeeMutants(ROOT).filter(
      (spec) => values.spec.length === 0 || values.spec.some((word) => spec.includes(word)),
    );
    // Those beside the code need no database, nor does loaded-late. (mutations.spec.ts starts this command, whose tarballs are not its own.)
    needsDatabase = specs.some((spec) => /^test\/(?!mutations\/)/.test(spec));
    if (needsDatabase) await globalSetup({ rootDir: ROOT });
    const budgetMs = Number(values.budget) * 1000;
    const judge = new Judge(ROOT, all, mutants, results, budgetMs, values.spec.length === 0);
    await judge.run(specs, Number(values.workers));
  }
  const judged = judgedOf(mutants, results);
  const figures = figuresOf(judged);
  const table = figureTable(figures, 'npm run test:mutations');
  process.stdout.write(`${linesByFile(judged)}${values.list ? survivorLines(judged) : ''}\n${table}\n`);
  if (words.length === 0 && values.spec.length === 0 && !holds(judged)) process.exitCode = 1;
  if (values.write) {
    const path = join(ROOT, 'docs/reliability.md');
    await write(path, withPart(readFileSync(path, 'utf8'), 'mutations', table));
    await write(join(ROOT, 'docs/mutations.md'), survivorPage(judged));
  }
} finally {
  await end();
}

async function write(path: string, text: string): Promise<void> {
  writeFileSync(path, await format(text, { ...(await resolveConfig(path)), filepath: path }));
}

async function end(): Promise<void> {
  if (needsDatabase) await globalTeardown();
  rmSync(sources, { recursive: true, force: true });
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
