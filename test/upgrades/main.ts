import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Released } from './released.js';

// `npm run test:all -- upgrades [version …]`: builds each released version from its commit, and runs the upgrades from it to this
// version, and its verifiers against this version.

const FILES = new URL('released/', import.meta.url);
const TESTS = ['test/upgrades/', 'test/verifiers/'];
const JEST = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', '-w2', ...TESTS];

const named = process.argv.slice(2);
for (const file of readdirSync(FILES)) {
  const { version, commit } = JSON.parse(readFileSync(new URL(file, FILES), 'utf8')) as Released;
  if (named.length > 0 && !named.includes(version)) continue;
  if (spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`]).status !== 0) {
    console.log(`${version}: skipped, the history does not go back to ${commit} (git fetch --unshallow)`);
    continue;
  }
  console.log(`${version}, from ${commit}`);
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-released-'));
  try {
    run('sh', ['-c', `git archive ${commit} | tar -x -C ${directory}`]);
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], directory);
    run('npm', ['run', '--silent', 'build'], directory);
    run(process.execPath, JEST, undefined, { RELEASED: directory, VERIFIERS: '1' });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[], cwd?: string, env: Record<string, string> = {}): void {
  const options = { stdio: 'inherit', env: { ...process.env, ...env } } as const;
  const { status } = spawnSync(program, args, cwd === undefined ? options : { ...options, cwd });
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}
