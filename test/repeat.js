#!/usr/bin/env node
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

// `npm run test:repeat -- <n> [--busy] [specs and options of Jest]`: builds once, runs the specs n times, and
// counts the failures of each test. `--busy` adds two processes that use a core each. With `BROWSER=chromium` in
// the environment: the tests in that browser.

const JEST = [
  '--max-semi-space-size=64',
  '--experimental-vm-modules',
  '--no-warnings',
  'node_modules/jest/bin/jest.js',
];
const USAGE = 'npm run test:repeat -- <n> [--busy] [specs and options of Jest]';
/** Ends with its parent, even if that was killed. */
const BURN = 'const parent = process.ppid; while (process.ppid === parent);';

const [times, ...rest] = process.argv.slice(2);
const isBusy = rest.includes('--busy');
const args = rest.filter((argument) => argument !== '--busy');
if (!/^[1-9]\d*$/.test(times ?? '')) {
  console.error(USAGE);
  process.exit(2);
}
if (process.env.BROWSER) runOrExit(process.execPath, 'install.js', 'test');
runOrExit('npm', 'run', '--silent', 'build');

const children = new Set();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    stop.abort();
    for (const child of children) child.kill('SIGTERM');
  });
}
const directory = mkdtempSync(join(tmpdir(), 'latchkey-repeat-'));
const failures = new Map();
let run = 0;
try {
  if (isBusy) for (let core = 0; core < 2; core++) start(['-e', BURN], 'ignore');
  while (run < Number(times) && !stop.signal.aborted) await runOnce(++run);
} finally {
  for (const child of children) child.kill();
  rmSync(directory, { recursive: true });
}

if (failures.size > 0) console.log('\nFailures:');
for (const [test, count] of [...failures].toSorted(([, one], [, other]) => other - one)) {
  console.log(`  ${count} of ${run}: ${test}`);
}
process.exitCode = failures.size > 0 || stop.signal.aborted ? 1 : 0;

async function runOnce(nth) {
  const outputFile = join(directory, `${nth}.json`);
  const begun = performance.now();
  const jest = start(
    [...JEST, ...args, '--json', `--outputFile=${outputFile}`],
    ['ignore', 'ignore', 'pipe'],
  );
  let log = '';
  jest.stderr.setEncoding('utf8').on('data', (text) => (log += text));
  const [code] = await once(jest, 'close');
  if (stop.signal.aborted) return;
  const seconds = Math.round((performance.now() - begun) / 1000);
  if (!existsSync(outputFile)) {
    console.log(`${log}\nrun ${nth} of ${times}: no results, in ${seconds} s`);
    note(`Jest ended with ${code}`);
    return;
  }
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(outputFile, 'utf8'));
  const failed = testResults.filter(({ status }) => status === 'failed');
  for (const { name, message, assertionResults } of failed) {
    const spec = relative('', name);
    console.log(`\n${spec}\n${message}`);
    const tests = assertionResults.filter(({ status }) => status === 'failed');
    for (const { fullName } of tests) note(`${spec}: ${fullName}`);
    if (tests.length === 0) note(`${spec}: did not run`);
  }
  if (code !== 0 && failed.length === 0) note(`${log}\nJest ended with ${code}`);
  console.log(`run ${nth} of ${times}: ${numPassedTests} passed, ${numFailedTests} failed, in ${seconds} s`);
}

function note(test) {
  failures.set(test, (failures.get(test) ?? 0) + 1);
}

function start(nodeArgs, stdio) {
  const child = spawn(process.execPath, nodeArgs, { stdio });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

function runOrExit(program, ...programArgs) {
  const { status } = spawnSync(program, programArgs, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
