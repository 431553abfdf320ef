import { spawnSync } from 'node:child_process';

/** Debian keeps servers where only root's PATH leads. */
export const PROGRAMS = `${process.env['PATH']}:/usr/sbin`;

/**
 * Whether a program is there. Tests that need it are skipped where it is missing, and say so. CI must have it: there the
 * tests run, and their start fails.
 */
export function isInstalled(program: string): boolean {
  return (
    process.env['CI'] !== undefined ||
    !spawnSync(program, ['--version'], { env: { PATH: PROGRAMS }, stdio: 'ignore' }).error
  );
}
