import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import globalSetup from '../../test/support/global-setup.js';
import { Copy } from './copy.js';
import type { Mutant } from './instrument.js';

const FOLDERS: string[] = [
  'src/token',
  'src/auth',
  'src/device',
  'src/features/scim',
  'src/features/provider-events',
];
/** A spec that takes longer is left out. */
const LONGEST_S = 120;
/** Limit for the specs of a mutant, together. */
const TOGETHER_S = 90;

const options = {
  seed: { type: 'string', default: '1' },
  count: { type: 'string', default: '200' },
  of: { type: 'string', multiple: true, default: FOLDERS },
  with: { type: 'string', multiple: true, default: ['statements'] as string[] },
} as const;
const { of: folders, with: others, ...numbers } = parseArgs({ options }).values;

spawnSync(process.execPath, ['install.js', 'lab'], { stdio: 'inherit' });
await globalSetup({ rootDir: process.cwd() });
const copy = new Copy();
const seconds = new Map<string, number>(); // of each spec
const covering = new Map<string, string[]>(); // specs that reach a mutant
const killers = new Map<string, string>(); // of each file the spec that killed its last mutant
const counts = new Map(folders.map((folder) => [folder, { killed: 0, survived: 0, uncovered: 0 }]));
const survivors: string[] = [];
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, finish);

const mutants = await copy.make(folders, Number(numbers.seed));
const sample = mutants.slice(0, Number(numbers.count));
for (const spec of copy.specs([...folders.map((folder) => basename(folder)), ...others])) await cover(spec);
console.log(`${sample.length} of ${mutants.length} mutants; ${seconds.size} specs`);
for (const mutant of sample) await testOne(mutant);
finish();

/** Measures how long a spec takes, and which mutants it reaches. */
async function cover(spec: string): Promise<void> {
  const run = await copy.run('', [spec], LONGEST_S);
  if (!run.hasPassed) return console.log(`left out: ${spec}, ${run.seconds} s ${run.failure.join(' ')}`);
  console.log(`${spec}, ${run.seconds} s`);
  seconds.set(spec, run.seconds);
  for (const id of new Set(run.covered)) covering.set(id, [...(covering.get(id) ?? []), spec]);
}

async function testOne(mutant: Mutant): Promise<void> {
  const { id, folder, file, line, before, after } = mutant;
  const all = covering.get(id) ?? [];
  const specs = chosen(all, mutant);
  const run = await copy.run(id, specs, 60 + 3 * TOGETHER_S);
  const outcome = specs.length === 0 ? 'uncovered' : run.hasPassed ? 'survived' : 'killed';
  counts.get(folder)![outcome]++;
  const [spec = 'limit of time', title] = run.failure;
  if (title) killers.set(file, spec);
  const by = outcome === 'killed' ? `by ${spec}: ${title}` : `of ${specs.length} of ${all.length} specs`;
  const result = `${file}:${line} ${outcome} ${by}, ${run.seconds} s: ${before} → ${after}`;
  if (outcome !== 'killed') survivors.push(result);
  console.log(result);
}

/** The spec that killed the last mutant of the file, specs of its folder, others; the fastest first. */
function chosen(specs: readonly string[], { folder, file }: Mutant): string[] {
  const rank = (spec: string): number =>
    spec === killers.get(file) ? 0 : spec.includes(`/${basename(folder)}/`) ? 1 : 2;
  let left = TOGETHER_S;
  return specs
    .toSorted((one, other) => rank(one) - rank(other) || seconds.get(one)! - seconds.get(other)!)
    .filter((spec, nth) => (left -= seconds.get(spec)!) >= 0 || nth === 0);
}

function finish(): never {
  copy.stop();
  console.log('\nfolder | mutants | killed | survived | uncovered');
  for (const [folder, { killed, survived, uncovered }] of counts) {
    console.log([folder, killed + survived + uncovered, killed, survived, uncovered].join(' | '));
  }
  console.log(['', ...survivors].join('\n'));
  process.exit(0); // with which the database ends
}
