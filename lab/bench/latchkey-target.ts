import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../packages/embedded-postgres/src/address.js';
import type { Cleanup } from './cleanup.js';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, PROVIDER, REDIRECT_URI, SERVICE_KEY } from './names.js';
import type { Measured } from './turn.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const START_MS = 20_000;

/** Starts the service itself, compiled, with a stub provider and without rate limits and demo page. */
export async function startLatchkey(
  databaseUrl: string,
  providerUrl: string,
  cleanup: Cleanup,
): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-bench-')); // without a .env
  cleanup.add(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      NODE_ENV: 'development',
      PORT: String(port),
      PUBLIC_URL: ISSUER,
      DATABASE_URL: databaseUrl,
      DATA_DIR: directory,
      SECRET_KEY: randomBytes(32).toString('hex'),
      RATE_LIMIT: 'off',
      SERVICE_KEYS: SERVICE_KEY,
      DEMO_ENABLED: 'false',
      LOG_FORMAT: 'json',
      REDIRECT_URIS: REDIRECT_URI,
      [`PROVIDERS_${PROVIDER.toUpperCase()}_URL`]: providerUrl,
      [`PROVIDERS_${PROVIDER.toUpperCase()}_CLIENT_ID`]: CLIENT_ID,
      [`PROVIDERS_${PROVIDER.toUpperCase()}_CLIENT_SECRET`]: CLIENT_SECRET,
    },
  });
  cleanup.add(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  });
  await ready(port, () => child.exitCode !== null);
  return { name: 'latchkey', pid: child.pid!, port };
}

async function ready(port: number, hasEnded: () => boolean): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!(await answersReady(port))) {
    if (hasEnded() || Date.now() > deadline) throw new Error('the service did not start');
    await delay(50);
  }
}

async function answersReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health/ready`)).ok;
  } catch {
    return false;
  }
}
