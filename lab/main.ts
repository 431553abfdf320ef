import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const JEST = [
  '--experimental-vm-modules',
  '--no-warnings',
  'node_modules/jest/bin/jest.js',
  '--forceExit',
  '-c',
  'lab/jest.config.js',
];

const SPECS: Readonly<Record<string, string>> = {
  histories: 'lab/histories/',
  'kill-points': 'lab/kill-points',
  time: 'lab/time/',
  'directory-latencies': 'lab/directory/',
};
const USAGE = `npm run lab -- <experiment> [options]
  histories    recorded histories of three instances under faults, checked; in the short form also planted faults
  kill-points  the service is killed at named points inside a sign-in
  time         random calls around each moment at which something expires, compared with a model
  bench        speed beside floors; takes the options of npm run bench
  directory    a directory of 100,000 users: speed, users beside it; takes options of its own
  audit        the audit trail's search on up to 100 million events; takes options of its own
  directory-latencies  from the answer to a directory until it counts everywhere; a second at most
  mutants      changes of the code that no spec notices; --count N, --of src/…, --with a folder of test/
  --minutes N  a long run; without it the short form, three minutes at most
  --seed N     start of all random choices; 1 without it
  --changes N  directory-latencies: how many are measured; 50 without it
  --out FILE   histories: JSON lines {client, op, key, scope, value, start, end, ok}`;

const STOP_MS = 10_000;

const [experiment = '', ...rest] = process.argv.slice(2);
const args = argumentsOf(experiment, rest);
if (!args) {
  console.error(USAGE);
  process.exit(2);
}
// In a separate process group, so that nothing is left behind.
const child = spawn(process.execPath, args.words, {
  stdio: 'inherit',
  detached: true,
  env: { ...process.env, ...args.env },
});
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    isStopped = true;
    child.kill('SIGTERM');
  });
}
const [code] = (await once(child, 'exit')) as [number | null];
if (isStopped) await endGroup(child.pid!);
process.exitCode = code ?? 1;

/** The database ends with Jest, and removes its files; programs that an experiment has frozen do not. */
async function endGroup(group: number): Promise<void> {
  const end = performance.now() + STOP_MS;
  try {
    while (performance.now() < end) {
      process.kill(-group, 0);
      await delay(100);
    }
    process.kill(-group, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function argumentsOf(name: string, more: string[]): { words: string[]; env?: NodeJS.ProcessEnv } | undefined {
  if (name === 'bench') return { words: ['dist/lab/bench/main.js', ...more] };
  if (name === 'directory') return { words: ['dist/lab/bench/directory/main.js', ...more] };
  if (name === 'audit') return { words: ['dist/lab/bench/audit/main.js', ...more] };
  if (name === 'mutants') return { words: ['--import', 'tsx', 'lab/mutants/main.ts', ...more] };
  const spec = SPECS[name];
  if (!spec) return undefined;
  const { values } = parseArgs({
    args: more,
    options: {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      changes: { type: 'string' },
      out: { type: 'string' },
    },
  });
  const numbers = [values.minutes, values.seed, values.changes].map((text) => text && Number(text));
  const [minutes, seed, changes] = numbers;
  if (numbers.some((one) => one === 0 || Number.isNaN(one))) return undefined;
  const options = { minutes, seed, changes, out: values.out && resolve(values.out) };
  const env = { LAB: JSON.stringify(options), CI: '1' }; // nothing is skipped because a program is missing
  return { words: [...JEST, spec], env };
}
