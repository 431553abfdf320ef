import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../docs/.vitepress/places.js';
import type { Feature } from '../../src/extensions.js';
import { FEATURES } from '../../src/features.js';
import { files, isOf, LISTS, textOf } from './feature-files.js';

/** What a file imports, as paths in the repository without extension. */
function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/(?:from|import|mock)\s*\(?['"`](\.[^'"`]+)['"`]/g);
  return [...found].map(([, path]) =>
    relative(ROOT, resolve(ROOT, dirname(file), path!)).replace(/\.[jt]sx?$/, ''),
  );
}

/** Tests that are in a feature's folder or import it, and what imports these tests. */
function testsOf(features: readonly Feature[]): ReadonlySet<string> {
  const tests = files.filter((file) => /^(?:test|lab|packages|examples)\/.*\.tsx?$/.test(file));
  const imports = new Map(tests.map((file) => [file, importsOf(file)]));
  const found = new Set(
    tests.filter((file) => features.some(({ name }) => file.startsWith(`test/${name}/`))),
  );
  for (let size = -1; size !== found.size;) {
    size = found.size;
    const named = new Set([...found].map((file) => file.replace(/\.tsx?$/, '')));
    for (const [file, paths] of imports) {
      const isNeeded = (path: string): boolean =>
        named.has(path) || features.some((feature) => isOf(feature, `${path}/`));
      if (paths.some(isNeeded)) found.add(file);
    }
  }
  return found;
}

/** Deletes features as a person would: their folders, their lines in the list, their tests. */
function copyWithout(features: readonly Feature[], tree: string): void {
  const tests = testsOf(features);
  for (const file of files) {
    if (tests.has(file) || features.some(({ name }) => file.includes(`/features/${name}/`))) continue;
    mkdirSync(join(tree, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(tree, file));
    if (LISTS.includes(file)) {
      const lists = features.reduce((text, { name }) => withoutLines(text, name), textOf(file));
      writeFileSync(join(tree, file), lists);
    }
  }
  for (const modules of ['node_modules', 'docs/.vitepress/node_modules', 'test/node_modules'])
    if (existsSync(join(ROOT, modules))) symlinkSync(join(ROOT, modules), join(tree, modules));
}

/** Removes the import of a feature and its entry in the list. */
function withoutLines(text: string, name: string): string {
  const line = new RegExp(`^import \\{ (\\w+) \\} from '\\./features/${name}/.*\\n`, 'm');
  const [whole, symbol] = line.exec(text) ?? [];
  return whole === undefined
    ? text
    : text.replace(whole, '').replace(new RegExp(`(?<=[\\[ ])${symbol}(?:,\\s|(?=\\]))`), '');
}

type Check = readonly [what: string, command: readonly string[]];

/** Two rows run beside each other, since most checks use one core. The start reads the description. */
const CHECKS: readonly (readonly Check[])[] = [
  [
    ['types', ['npm', 'run', '--silent', 'types']],
    ['types of the administration page', ['npm', 'run', '--silent', 'types', '--', '-p', 'admin']],
    ['lint', ['oxlint', '--type-aware', '--deny-warnings', 'src', 'openapi']],
    ['unused code', ['knip', '--no-progress', '--include', 'files,exports,types,duplicates']],
    ['settings', ['tsx', 'openapi/settings.ts']],
  ],
  [
    ['the description of the interface', ['npm', 'run', '--silent', 'docs:api']],
    ['a start with a sign-in', ['npm', 'test', '--', 'test/auth/sign-in.spec.ts']],
  ],
];

const run = promisify(execFile);

/** Runs checks one after the other. @returns the first that fails, and its output */
async function firstFailure(checks: readonly Check[], tree: string): Promise<string | undefined> {
  const PATH = `${join(tree, 'node_modules/.bin')}:${process.env['PATH']}`;
  const env = { ...process.env, PATH, NODE_OPTIONS: '', SLOW: '' }; // knip reads jest.config.js
  for (const [what, [command, ...args]] of checks) {
    try {
      await run(command!, args, { cwd: tree, env, maxBuffer: 16 << 20 });
    } catch (error) {
      const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
      return `${what}: ${message.slice(0, 200)}\n${`${stdout}\n${stderr}`.trim().slice(-4000)}`;
    }
  }
  return undefined;
}

/** By hand, a deletion takes a minute; a copy of the tree shows that it is all that it takes. */
describe('is deleted with its folder, its line and its tests', () => {
  let tree: string;
  beforeEach(() => void (tree = mkdtempSync(join(tmpdir(), 'latchkey-without-'))));
  afterEach(() => rmSync(tree, { recursive: true, force: true }));

  it.each([
    ...FEATURES.map((feature) => [feature.name, [feature]] as const),
    ['each of them', FEATURES] as const,
  ])(
    '%s',
    async (_, features) => {
      copyWithout(features, tree);
      const applies = ([what]: Check): boolean => {
        // What several features share is no part of one of them, and stays.
        if (what === 'unused code') return features.length === 1;
        // its own page goes with it
        return (
          !what.endsWith('administration page') || features.every(({ name }) => name !== 'administration')
        );
      };
      const failures = CHECKS.map((row) => firstFailure(row.filter(applies), tree));
      expect((await Promise.all(failures)).filter(Boolean)).toEqual([]);
    },
    1_200_000,
  );
});
