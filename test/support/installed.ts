import { spawnSync } from 'node:child_process';

/** Debian keeps servers where only root's PATH leads. */
export const PROGRAMS = `${process.env['PATH']}:/usr/sbin`;

/** Whether a program is installed. With `CI` set it counts as installed: the tests run, and its start fails. */
export function isInstalled(program: string): boolean {
  return (
    process.env['CI'] !== undefined ||
    !spawnSync(program, ['--version'], { env: { PATH: PROGRAMS }, stdio: 'ignore' }).error
  );
}

/**
 * Returns Jest's `describe` and `it` for tests with requirements. If one is not met, the tests are skipped, and their titles end with
 * its name, by which `skipped.js` counts them.
 * @param requirements whether each is met, by its name: a program (`redis-server`), a platform (`Linux`), a command
 */
export function needs(requirements: Readonly<Record<string, boolean>>): {
  readonly describe: jest.Describe;
  readonly it: jest.It;
} {
  const missing = Object.keys(requirements).filter((name) => !requirements[name]);
  if (missing.length === 0) return { describe, it };
  const reason = ` (skipped: needs ${missing.join(', ')})`;
  return { describe: titled(describe.skip, reason) as jest.Describe, it: titled(it.skip, reason) as jest.It };
}

function titled(block: jest.Describe | jest.It, reason: string): unknown {
  const each =
    (...table: Parameters<jest.Each>) =>
    (title: string, ...rest: unknown[]): void =>
      (block.each(...table) as (...args: unknown[]) => void)(`${title}${reason}`, ...rest);
  const plain = (title: string, ...rest: unknown[]): void =>
    (block as (...args: unknown[]) => void)(`${title}${reason}`, ...rest);
  return Object.assign(plain, { each });
}
