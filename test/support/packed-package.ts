import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface Manifest {
  readonly version: string;
  readonly bin?: Record<string, string>;
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

/**
 * Packs `packages/<name>` as it would be published, from a copy in which nothing has been built: packing builds it.
 *
 * @param directory an empty one
 * @returns the tarball's path
 */
export async function packPackage(name: string, directory: string): Promise<string> {
  const checkout = join(directory, 'checkout');
  const source = join(checkout, 'packages', name);
  await cp(join(ROOT, 'packages', name), source, {
    recursive: true,
    filter: (path) => !['dist', 'test'].includes(basename(path)),
  });
  for (const file of ['tsconfig.json', 'package.json']) await cp(join(ROOT, file), join(checkout, file));
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  const args = ['pack', '--silent', '--pack-destination', directory];
  const { stdout } = await run('npm', args, { cwd: source });
  return join(directory, stdout.trim());
}

/** A project that has one package installed, with what that depends on and nothing else. */
export class PackageProject {
  private constructor(
    readonly directory: string,
    /** The package's own directory. */
    readonly installed: string,
    readonly manifest: Manifest,
  ) {}

  static async install(name: string): Promise<PackageProject> {
    const directory = await mkdtemp(join(tmpdir(), `latchkey-${name}-`));
    const tarball = await packPackage(name, directory);
    const modules = join(directory, 'node_modules');
    const installed = join(modules, '@latchkey', name);
    await mkdir(installed, { recursive: true });
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
    for (const dependency of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const source = join(ROOT, 'node_modules', dependency);
      if (!existsSync(source)) continue; // of another platform
      await mkdir(dirname(join(modules, dependency)), { recursive: true });
      await symlink(source, join(modules, dependency));
    }
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    return new PackageProject(directory, installed, manifest);
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }
}
