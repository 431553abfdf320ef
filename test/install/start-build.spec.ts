import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
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
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const INPUTS = ['package.json', 'start.js', 'start', 'src', 'packages', 'ormconfig.ts', 'tsconfig.json'];

/** What `npm start` does before the service, in a clone of its own: it builds what has changed, however that came about. */
describe('the build of npm start', () => {
  const clone = mkdtempSync(join(tmpdir(), 'latchkey-clone-'));
  const at = (path: string): string => join(clone, path);
  const read = (path: string): string => readFileSync(at(path), 'utf8');
  let first: Map<string, string>;

  beforeAll(() => {
    const isSource = (path: string): boolean => !/[/\\](?:node_modules|dist)(?:-\d+)?$/.test(path);
    for (const name of INPUTS)
      cpSync(join(repository, name), at(name), { recursive: true, filter: isSource });
    symlinkSync(join(repository, 'node_modules'), at('node_modules'));
    expect(start()).toEqual(['client', 'service']);
    first = built();
  });
  afterEach(() => expect(start()).toEqual([])); // never twice
  afterAll(() => rmSync(clone, { recursive: true, force: true }));

  /** @returns what it compiled */
  function start(): string[] {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['start.js'], {
      cwd: clone,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    return compiled(stdout);
  }

  const compiled = (output: string): string[] =>
    [...output.matchAll(/compiling the (\w+)/g)].map(([, what]) => what!);

  /** What lies in the folders of the build: hashes by path. */
  function built(): Map<string, string> {
    const folders = ['dist/src', 'dist/packages', 'packages/client/dist'];
    const entries = folders.flatMap((folder) =>
      readdirSync(at(folder), { recursive: true, withFileTypes: true }),
    );
    const paths = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return new Map(
      paths.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
    );
  }

  /** As an editor whose clock stands still, and `git checkout`, may leave it: same length, same time. */
  function replace(path: string, before: string, after: string): void {
    const { atime, mtime } = statSync(at(path));
    expect(read(path)).toContain(before);
    writeFileSync(at(path), read(path).replace(before, after));
    utimesSync(at(path), atime, mtime);
  }

  it('has the whole service and the client that it serves', () => {
    const main = spawnSync(process.execPath, ['dist/src/main.js'], {
      cwd: clone,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], PORT: 'none' },
    });
    expect(main.stderr).toContain('PORT: was "none"'); // it was loaded
    const served = readdirSync(at('dist/packages/client/dist'));
    const sdk = readdirSync(at('packages/client/dist')).filter((name) => /\.(?:js|map)$/.test(name));
    expect(served.toSorted()).toEqual(sdk.filter((name) => !/^(?:development|react)/.test(name)).toSorted());
  });

  it('compiles a source that has changed, and when it has changed back', () => {
    replace('src/serve.ts', ': stopping', ': slowing!');
    expect(start()).toEqual(['service']);
    expect(read('dist/src/serve.js')).toContain(': slowing!');
    replace('src/serve.ts', ': slowing!', ': stopping');
    expect(start()).toEqual(['service']);
    expect(built()).toEqual(first);
  });

  it('compiles a source that is new or has another name, and takes away what it was', () => {
    writeFileSync(at('src/new.ts'), 'export const answer: number = 42;\n');
    expect(start()).toEqual(['service']);
    renameSync(at('src/new.ts'), at('src/other.ts'));
    expect(start()).toEqual(['service']);
    expect(read('dist/src/other.js')).toContain('42');
    rmSync(at('src/other.ts'));
    expect(start()).toEqual(['service']);
    expect(built()).toEqual(first);
  });

  it('leaves alone what is not compiled', () => {
    writeFileSync(at('src/more.spec.ts'), 'no code');
    expect(start()).toEqual([]);
  });

  it('compiles the client, and serves it', () => {
    replace('packages/client/src/texts/fr.ts', 'Se connecter', 'Se rattacher');
    expect(start()).toEqual(['client', 'service']);
    expect(read('dist/packages/client/dist/fr.js')).toContain('Se rattacher');
    replace('packages/client/src/texts/fr.ts', 'Se rattacher', 'Se connecter');
    rmSync(at('packages/client/dist'), { recursive: true });
    expect(start()).toEqual(['client', 'service']);
    expect(built()).toEqual(first);
  });

  it("compiles the client when the root's tsconfig.json has changed, which its own extends", () => {
    replace('tsconfig.json', '"skipLibCheck": true', '"skipLibCheck": false');
    expect(start()).toEqual(['client']);
  });

  it("… and has changed back; takes away what a build that was killed has left, and not what another one's needs", () => {
    const { pid: ended } = spawnSync(process.execPath, ['--version']);
    const [left, used] = [`packages/client/dist-${ended}`, `packages/client/dist-${process.pid}`];
    for (const folder of [left, used]) mkdirSync(at(folder));
    replace('tsconfig.json', '"skipLibCheck": false', '"skipLibCheck": true');
    expect(start()).toEqual(['client']);
    expect([left, used].map((folder) => existsSync(at(folder)))).toEqual([false, true]);
    rmSync(at(used), { recursive: true });
    expect(built()).toEqual(first);
  });

  const LOST: [string, () => void][] = [
    ['a file', () => rmSync(at('dist/src/serve.js'))],
    ['the end of a file', () => writeFileSync(at('dist/src/main.js'), 'const')],
    ['its mark', () => rmSync(at('dist/.service'))],
    ['its place to another build', () => writeFileSync(at('dist/src/old.js'), '')],
  ];

  it.each(LOST)('mends what has lost %s', (_what, harm) => {
    harm();
    expect(start()).toEqual(['service']);
    expect(built()).toEqual(first);
  });

  it('says what cannot be compiled, and leaves what was there', () => {
    replace('src/serve.ts', 'import', 'import import');
    expect(start).toThrow(/serve\.ts/);
    expect(built()).toEqual(first);
    replace('src/serve.ts', 'import import', 'import');
  });

  it('builds right beside another, and after one that was killed anywhere', async () => {
    const spawned = () => spawn(process.execPath, ['start.js'], { cwd: clone, stdio: 'ignore' });
    const lost = [
      ['dist/src', 100],
      ['dist', 500],
    ] as const;
    for (const [folder, killedAfter] of lost) {
      rmSync(at(folder), { recursive: true });
      const [killed, ...others] = [spawned(), spawned(), spawned()];
      const ended = Promise.all(others.map((child) => once(child, 'exit')));
      await delay(killedAfter);
      killed.kill('SIGKILL');
      expect(await ended).toEqual([
        [0, null],
        [0, null],
      ]);
      expect(built()).toEqual(first);
    }
  });
});
