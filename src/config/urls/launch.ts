import type { Environment } from '../settings/setting-row.js';

/** How npm names its scripts, beside `start` itself. */
const SCRIPT = /^start(:\w+)?$/;

/**
 * What to type to start the service again with another port, as this shell wants it.
 *
 * @param port one that is free
 * @param env of this process: npm tells there which script it runs
 * @param platform as `process.platform`
 */
export function withPort(
  port: number,
  env: Environment = process.env,
  platform: string = process.platform,
): string {
  const script = env['npm_lifecycle_event'] ?? '';
  if (platform === 'win32') return `set PORT=${port} (in PowerShell: $env:PORT=${port}) and start again`;
  if (!SCRIPT.test(script)) return `PORT=${port}`;
  return `PORT=${port} npm ${script === 'start' ? 'start' : `run ${script}`}`;
}
