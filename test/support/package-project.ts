import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  symlink,
  writeFile,
  cp,
  readdir,
  rename,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url));

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin?: Record<string, string>;
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

/**
 * A project in an empty folder, which has packages of this repository installed as npm does it: unpacked, with their commands in
 * `.bin`. As with pnpm, each finds what it declares and nothing else.
 */
export class PackageProject {
  private constructor(readonly directory: string) {}

  /** Of no module type unless one is given: as `npm init` leaves it. */
  static async install(names: readonly Packed[], type?: 'module' | 'commonjs'): Promise<PackageProject> {
    const project = new PackageProject(await mkdtemp(join(tmpdir(), 'latchkey-project-')));
    await writeFile(join(project.directory, 'package.json'), JSON.stringify({ private: true, type }));
    for (const name of names) await project.unpack(name);
    return project;
  }

  /** An installed package's own directory. */
  place(name: Packed): string {
    return this.module(name === 'latchkey' ? name : `@latchkey/${name}`);
  }

  async manifest(name: Packed): Promise<Manifest> {
    return JSON.parse(await readFile(join(this.place(name), 'package.json'), 'utf8')) as Manifest;
  }

  /** A command that the packages have brought. */
  command(name: string): string {
    return this.module(`.bin/${name}`);
  }

  /** Makes a dependency of this repository one of the project. */
  async link(name: string): Promise<void> {
    const place = this.module(name);
    if (!existsSync(join(MODULES, name)) || existsSync(place)) return; // of another platform, or there already
    await mkdir(dirname(place), { recursive: true });
    await symlink(join(MODULES, name), place);
  }

  /** Runs a script of the project in this version of Node.js. @returns its standard output */
  async run(script: string, file = 'script.js', flags: readonly string[] = []): Promise<string> {
    await writeFile(join(this.directory, file), script);
    return (await run(process.execPath, [...flags, file], { cwd: this.directory, timeout: 50_000 })).stdout;
  }

  /**
   * Checks sources of the project with TypeScript.
   * @param options of the compiler, beside `strict`
   * @returns what it has to say: nothing where all is well
   */
  async typeCheck(sources: Readonly<Record<string, string>>, options: object): Promise<string> {
    for (const [file, source] of Object.entries(sources)) await writeFile(join(this.directory, file), source);
    const fixed = { strict: true, noEmit: true, target: 'es2022', skipDefaultLibCheck: true };
    const compilerOptions = { ...fixed, types: [], ...options };
    const config = JSON.stringify({ compilerOptions, files: Object.keys(sources) });
    await writeFile(join(this.directory, 'tsconfig.json'), config);
    const checking = run(process.execPath, [join(MODULES, 'typescript/bin/tsc')], { cwd: this.directory });
    return (await checking.catch((error: { stdout: string }) => error)).stdout;
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }

  private module(name: string): string {
    return join(this.directory, 'node_modules', name);
  }

  private async unpack(name: Packed): Promise<void> {
    const place = this.place(name);
    await mkdir(place, { recursive: true });
    await run('tar', ['-xzf', await tarballOf(name), '-C', place, '--strip-components=1']);
    const { bin, dependencies, optionalDependencies } = await this.manifest(name);
    for (const one of Object.keys({ ...dependencies, ...optionalDependencies })) await this.link(one);
    for (const [command, path] of Object.entries(bin ?? {})) {
      const link = this.command(command);
      await mkdir(dirname(link), { recursive: true });
      await symlink(relative(dirname(link), join(place, path)), link);
      await chmod(join(place, path), 0o755);
    }
  }
}

const inFolder = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What this repository packs: the service, and each folder of packages/. */
export const PACKED = ['latchkey', 'client', 'server', 'check-provider', 'embedded-postgres'] as const;
export type Packed = (typeof PACKED)[number];

/**
 * Packs a package as it would be published: once in a run, by the first spec that asks, while the others wait.
 * @returns the tarball's path
 */
export async function tarballOf(name: Packed): Promise<string> {
  const place = join(tmpdir(), `tarball-${name}`);
  const lock = new Client(`${process.env['TEST_DATABASE_SERVER']}postgres`);
  await lock.connect();
  try {
    await lock.query('SELECT pg_advisory_lock(hashtext($1))', [place]);
    if (!existsSync(place)) await pack(name, place);
  } finally {
    await lock.end();
  }
  const [file] = await readdir(place);
  return join(place, file!);
}

async function pack(name: Packed, place: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'latchkey-pack-'));
  try {
    const tarballs = join(directory, 'tarballs');
    await mkdir(tarballs);
    const args = ['pack', '--silent', '--pack-destination', tarballs];
    if (name === 'latchkey') await inFolder('npm', [...args, '--ignore-scripts'], { cwd: builtService() });
    else await inFolder('npm', args, { cwd: await cleanCheckout(name, directory) });
    await rename(tarballs, place);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The build is the test command's: specs that run side by side would build over each other. */
function builtService(): string {
  if (!existsSync(join(ROOT, 'dist/src/main.js'))) throw new Error('run `npm run build` first');
  return ROOT;
}

/** A copy in which nothing has been built: packing builds it. */
async function cleanCheckout(name: Packed, directory: string): Promise<string> {
  const checkout = join(directory, 'checkout');
  const source = join(checkout, 'packages', name);
  await cp(join(ROOT, 'packages', name), source, {
    recursive: true,
    filter: (path) => !['dist', 'test'].includes(basename(path)),
  });
  for (const file of ['tsconfig.json', 'package.json']) await cp(join(ROOT, file), join(checkout, file));
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  return source;
}
