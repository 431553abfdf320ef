import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tarballOf, type Packed } from './tarballs.js';

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
