import { spawnSync } from 'node:child_process';
import { ENGINES, installed } from './engines.js';

// The browser tests in one engine after the other: `npm run test:all -- browsers [engine …] [Jest's own arguments]`.
const JEST = [
  '--experimental-vm-modules',
  '--no-warnings',
  'node_modules/jest/bin/jest.js',
  '--verbose',
  '-w2',
];

const words = process.argv.slice(2);
const named = words.filter((word) => word in ENGINES);
const patterns = words.filter((word) => !(word in ENGINES));
const outcomes: string[] = [];
let failed = false;

for (const name of named.length > 0 ? named : Object.keys(ENGINES)) {
  const engine = ENGINES[name]!;
  if (!installed(engine)) {
    const isNeeded = named.length > 0 || process.env['CI'] !== undefined;
    failed ||= isNeeded;
    outcomes.push(
      `${name}: ${isNeeded ? 'MISSING' : 'skipped'}, not installed (apt-get install ${engine.packages})`,
    );
    continue;
  }
  console.log(`\n${name}`);
  const begun = performance.now();
  const node = [process.execPath, ...JEST, ...(patterns.length > 0 ? patterns : ['test/browsers/'])];
  const [command, ...args] = engine.needsDisplay ? ['xvfb-run', '-a', ...node] : node;
  const { status } = spawnSync(command!, args, { stdio: 'inherit', env: { ...process.env, BROWSER: name } });
  failed ||= status !== 0;
  const seconds = Math.round((performance.now() - begun) / 1000);
  outcomes.push(`${name}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
}
console.log(`\n${outcomes.join('\n')}`);
process.exitCode = failed ? 1 : 0;
