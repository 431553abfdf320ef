#!/usr/bin/env node
// `npm run check`: all checks but the tests, two at a time; what one prints is shown if it fails. Needs `npm ci` only, and says what it
// leaves out (test/more-types.js). Files that have not changed since the last run are checked from node_modules/.cache.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';

const CACHE = 'node_modules/.cache/check';
const AT_ONCE = 2; // most of them use one core

const tsc = (name, folder) =>
  `npm run --silent types -- -p ${folder} --incremental --tsBuildInfoFile ${CACHE}/${name}.tsbuildinfo`;

/** Lint reads dist/ (`#embedded-postgres`); each of the next ones empties and builds it. */
const BUILT = [
  'npm run --silent lint',
  'npm run --silent docs:api -- --check',
  'nest build',
  'tsc -p tsconfig.adapter.json',
  'node --max-semi-space-size=64 --experimental-vm-modules --no-warnings node_modules/jest/bin/jest.js test/project/architecture test/project/lists test/project/surface test/auth/access src/platform/config/settings',
];

/** The longest first. */
const CHECKS = {
  'lint, description of the interface, rules of modules': BUILT.join(' && '),
  types: tsc('root', '.'),
  format: 'oxfmt --check',
  'unused code': `knip --no-progress --cache --cache-location ${CACHE}/knip`,
  'types of the administration page': tsc('admin', 'admin'),
  'types of @latchkey/client': tsc('client', 'packages/client'),
  'plain English': 'node test/project/plain-english.js',
  documents: 'npm run --silent docs -- --check',
  'more types': 'node test/more-types.js',
};

/** @returns the exit code, and what it has printed */
function run(command) {
  return new Promise((resolve) => {
    // `npm run` has put node_modules/.bin into PATH.
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    child.on('close', (code) => resolve({ code, output }));
  });
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

async function check(name, command) {
  const began = performance.now();
  const { code, output } = await run(command);
  console.log(`${code === 0 ? '✓' : '✗'} ${name} (${seconds(began)})`);
  if (code !== 0) process.exitCode = 1;
  if (code !== 0 || name === 'more types') process.stdout.write(output);
}

mkdirSync(CACHE, { recursive: true });
const began = performance.now();
await check('build of the client', 'npm run --silent build:client && npm run --silent build:admin');
const waiting = Object.entries(CHECKS);
const runAll = async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) await check(...next);
};
await Promise.all(Array.from({ length: AT_ONCE }, runAll));
console.log(
  process.exitCode ? `Something is wrong (${seconds(began)}).` : `All is well (${seconds(began)}).`,
);
