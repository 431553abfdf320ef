import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/src/latchkey.js', import.meta.url));

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the compiled command `keys` as a process of its own, as `npm run keys` does.
 * @param env the whole of its environment, beside PATH and a SECRET_KEY, which is that of the test services
 */
export function keysCommand(env: Record<string, string>, ...args: string[]): Promise<CommandResult> {
  const options = { cwd: tmpdir(), env: { PATH: process.env['PATH'], SECRET_KEY: '5e'.repeat(32), ...env } };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, 'keys', ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}
