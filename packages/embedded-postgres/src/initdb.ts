import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Binaries } from './binaries.js';
import type { SystemAccount } from './system-account.js';

/**
 * Calls `use` with the programs that make a cluster here. Copies replace the installed ones in two cases:
 * - initdb passes its directory to a shell in double quotes, so special characters break it
 * - initdb and single-user mode refuse an account without a name (`docker run --user 12345`)
 */
export function withInitdb(
  binaries: Binaries,
  account: SystemAccount | undefined,
  use: (programs: Binaries) => void,
): void {
  const { initdb, postgres } = binaries;
  const isNameless = account === undefined && process.platform === 'linux' && !hasName();
  if (process.platform === 'win32' || (!isNameless && !/[$`"\\]/.test(initdb))) return use(binaries);
  const copy = mkdtempSync(join(tmpdir(), 'latchkey-initdb-'));
  try {
    chmodSync(copy, 0o755);
    mkdirSync(join(copy, 'bin'), { mode: 0o755 });
    const copied = (program: string): string => join(copy, 'bin', basename(program));
    for (const program of [initdb, postgres]) {
      copyFileSync(program, copied(program));
      if (isNameless) replaceLookup(copied(program));
    }
    const installed = dirname(dirname(initdb));
    for (const name of ['lib', 'share']) symlinkSync(join(installed, name), join(copy, name));
    use({ ...binaries, initdb: copied(initdb), postgres: copied(postgres) });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Whether the number of this process's account has an entry in the system's list. */
function hasName(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

/**
 * Lets a program read the first entry of the account list instead of its own. Both functions of the C library
 * have one type, and names of one length. The name is unused: `-U` is given, and single-user mode needs no role.
 */
function replaceLookup(program: string): void {
  const code = readFileSync(program, 'latin1');
  chmodSync(program, 0o755);
  writeFileSync(program, code.replaceAll('\0getpwuid\0', '\0getpwent\0'), 'latin1');
}
