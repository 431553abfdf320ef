import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../packages/embedded-postgres/src/address.js';
import type { Cleanup } from './cleanup.js';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, PROVIDER, REDIRECT_URI, SERVICE_KEY } from './names.js';
import { startService, type Service } from './service.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
/** One for all starts of a run: the database keeps what was encrypted with it. */
const SECRET = randomBytes(32).toString('hex');

/**
 * Starts the service itself, compiled, with a stub provider and without rate limits and demo page.
 * @param more further settings
 */
export async function startLatchkey(
  databaseUrl: string,
  providerUrl: string,
  cleanup: Cleanup,
  env: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-bench-')); // without a .env
  cleanup.add(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  return startService(
    {
      name: 'latchkey',
      command: [process.execPath, MAIN, 'serve'],
      port,
      readyPath: '/health/ready',
      cwd: directory,
      env: {
        NODE_ENV: 'development',
        PORT: String(port),
        PUBLIC_URL: ISSUER,
        DATABASE_URL: databaseUrl,
        DATA_DIR: directory,
        SECRET_KEY: SECRET,
        RATE_LIMIT: 'off',
        SERVICE_KEYS: SERVICE_KEY,
        DEMO_ENABLED: 'false',
        LOG_FORMAT: 'json',
        REDIRECT_URIS: REDIRECT_URI,
        [`PROVIDERS_${PROVIDER.toUpperCase()}_URL`]: providerUrl,
        [`PROVIDERS_${PROVIDER.toUpperCase()}_CLIENT_ID`]: CLIENT_ID,
        [`PROVIDERS_${PROVIDER.toUpperCase()}_CLIENT_SECRET`]: CLIENT_SECRET,
        ...env,
      },
    },
    cleanup,
  );
}
