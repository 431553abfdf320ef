import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const INPUTS = [
  '.swcrc',
  'admin',
  'build.js',
  'demo',
  'ormconfig.ts',
  'package-lock.json',
  'package.json',
  'packages',
  'src',
  'start.js',
  'tsconfig.build.json',
  'tsconfig.json',
];

/** `npm start`, in a clone of the repository, compiles everything if a source has changed. */
describe('the build of npm start', () => {
  const clone = mkdtempSync(join(tmpdir(), 'latchkey-clone-'));
  const at = (path: string): string => join(clone, path);
  const read = (path: string): string => readFileSync(at(path), 'utf8');

  beforeAll(() => {
    const isSource = (path: string): boolean => !/[/\\](?:node_modules|dist)(?:-\d+)?$/.test(path);
    for (const name of INPUTS)
      cpSync(join(repository, name), at(name), { recursive: true, filter: isSource });
    symlinkSync(join(repository, 'node_modules'), at('node_modules'));
    writeFileSync(at('src/new.ts'), 'export const answer: number = 42;\n');
    expect(compiles()).toBe(true);
  });
  afterEach(() => expect(compiles()).toBe(false)); // never twice
  afterAll(() => rmSync(clone, { recursive: true, force: true }));

  function compiles(): boolean {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['start.js'], {
      cwd: clone,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    return stdout.includes('compiling');
  }

  /** Keeps length and modification time, as `git checkout` may. */
  function replace(path: string, before: string, after: string): void {
    const { atime, mtime } = statSync(at(path));
    expect(read(path)).toContain(before);
    writeFileSync(at(path), read(path).replace(before, after));
    utimesSync(at(path), atime, mtime);
  }

  it('has the whole service and the client that it serves', () => {
    const main = spawnSync(process.execPath, ['dist/src/main.js', 'serve'], {
      cwd: clone,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], PORT: 'none' },
    });
    expect(main.stderr).toContain('PORT is invalid'); // it was loaded
    const served = readdirSync(at('dist/packages/client/dist'));
    const sdk = readdirSync(at('packages/client/dist')).filter((name) => /\.(?:js|map)$/.test(name));
    expect(served.toSorted()).toEqual(sdk.filter((name) => !/^(?:development|react)/.test(name)).toSorted());
  });

  it('reports a source that cannot be compiled, compiles changed and renamed ones, and removes former output', () => {
    expect(read('dist/src/new.js')).toContain('42');
    replace('src/start/start.ts', 'import', 'import import');
    expect(compiles).toThrow(/start\.ts/);
    replace('src/start/start.ts', 'import import', 'import');
    replace('src/start/start.ts', ': stopping', ': slowing!');
    replace('packages/client/src/texts/fr.ts', 'Se connecter', 'Se rattacher');
    replace('admin/src/callback.ts', 'You can close', 'You may close');
    renameSync(at('src/new.ts'), at('src/other.ts'));
    expect(compiles()).toBe(true);
    expect(read('dist/src/start/start.js')).toContain(': slowing!');
    expect(read('dist/packages/client/dist/fr.js')).toContain('Se rattacher');
    expect(read('admin/dist/callback.js')).toContain('You may close');
    expect(existsSync(at('dist/src/new.js'))).toBe(false);
    expect(read('dist/src/other.js')).toContain('42');
  });
});
