import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import globalSetup from '../../test/support/global-setup.js';
import { Copy } from './copy.js';
import type { Mutant } from './instrument.js';

const FOLDERS = ['src/token', 'src/auth', 'src/device', 'src/features/scim', 'src/features/provider-events'];
/** A spec that takes longer is left out. */
const LONGEST_S = 120;
/** Limit for other specs, together: they run if the specs of the folder do not kill a mutant. */
const OTHERS_S = 60;

const options = {
  seed: { type: 'string', default: '1' },
  count: { type: 'string', default: '250' },
  of: { type: 'string', multiple: true, default: [] as string[] },
  with: { type: 'string', multiple: true, default: ['statements', 'attacks'] as string[] },
} as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const named = [...values.of, ...positionals];
const folders = named.length > 0 ? named : FOLDERS;

spawnSync(process.execPath, ['install.js', 'lab'], { stdio: 'inherit' });
await globalSetup({ rootDir: process.cwd() });
const copy = new Copy();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    copy.stop();
    process.exit(1); // with which the database ends
  });
}

const mutants = await copy.make(folders, Number(values.seed));
const each = Math.ceil(Number(values.count) / folders.length);
const sample = folders.flatMap((folder) => mutants.filter((one) => one.folder === folder).slice(0, each));
const seconds = new Map<string, number>(); // of each spec
const covering = new Map<string, string[]>(); // specs that reach a mutant
const killers = new Map<string, string>(); // of each file the spec that killed its last mutant
const counts = new Map(folders.map((folder) => [folder, { killed: 0, survived: 0, 'no cover': 0 }]));
const survivors: string[] = [];

for (const spec of copy.specs([...folders.map((folder) => basename(folder)), ...values.with]))
  await cover(spec);
console.log(`${sample.length} of ${mutants.length} mutants; ${seconds.size} specs`);
for (const mutant of sample) await testOne(mutant);
print();
process.exit(0);

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
  const specs = specsFor(mutant);
  const expected = specs.reduce((sum, spec) => sum + seconds.get(spec)!, 0);
  const run = await copy.run(id, specs, 60 + 3 * expected);
  const outcome = specs.length === 0 ? 'no cover' : run.hasPassed ? 'survived' : 'killed';
  counts.get(folder)![outcome]++;
  const [spec, title] = run.failure;
  if (spec) killers.set(file, spec);
  const by = spec ? ` by ${spec}: ${title}` : ` of ${specs.length} specs`;
  const result = `${file}:${line} ${outcome}${by}, ${run.seconds} s`;
  const change = outcome === 'killed' ? '' : `: ${before} → ${after}`;
  if (change) survivors.push(result + change);
  console.log(result + change);
}

/** Specs of the folder, then others; the fastest first, after the last one that killed a mutant of the file. */
function specsFor({ id, folder, file }: Mutant): string[] {
  const all = (covering.get(id) ?? []).toSorted((one, other) => seconds.get(one)! - seconds.get(other)!);
  const isOwn = (spec: string): boolean => spec.includes(`/${basename(folder)}/`);
  let left = OTHERS_S;
  const others = all.filter((spec) => !isOwn(spec) && (left -= seconds.get(spec)!) >= 0);
  const first = all.filter((spec) => spec === killers.get(file));
  return [...new Set([...first, ...all.filter(isOwn), ...others])];
}

function print(): void {
  console.log('\nfolder | mutants | killed | survived | no cover | score');
  for (const [folder, { killed, survived, 'no cover': missed }] of counts) {
    const count = killed + survived + missed;
    const score = `${Math.round((100 * killed) / count)} %`;
    console.log([folder, count, killed, survived, missed, score].join(' | '));
  }
  console.log(['', ...survivors].join('\n'));
}
