import { createPublicKey, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../packages/embedded-postgres/src/address.js';
import { centrifugoProgram } from '../../../test/providers/installed-products.js';
import type { Cleanup } from '../cleanup.js';
import { residentMemory } from '../cpu-time.js';
import { issueAccessToken, JWKS } from '../floors/access-token.js';
import type { User } from '../load/sockets.js';
import { SERVICE_KEY } from '../names.js';
import { startService } from '../service.js';
import type { Measured } from '../turn.js';
import type { Footprint } from './results.js';

const IDLE_MS = 10_000;

/**
 * Starts Centrifugo with its memory engine: ES256 tokens and a personal channel for each user, without history.
 * @returns undefined without Go or without the download
 */
export async function startCentrifugo(
  userCount: number,
  cleanup: Cleanup,
): Promise<(Measured & { readonly users: readonly User[]; readonly footprint: Footprint }) | undefined> {
  const program = centrifugoProgram();
  if (program === undefined) return undefined;
  const directory = mkdtempSync(join(tmpdir(), 'centrifugo-bench-'));
  cleanup.add(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const publicKey = createPublicKey({ key: JWKS.keys[0]!, format: 'jwk' });
  const config = {
    http_server: { address: '127.0.0.1', port },
    http_api: { key: SERVICE_KEY },
    health: { enabled: true },
    log: { level: 'error' },
    client: {
      token: { ecdsa_public_key: publicKey.export({ type: 'spki', format: 'pem' }) },
      subscribe_to_user_personal_channel: { enabled: true },
    },
  };
  writeFileSync(join(directory, 'config.json'), JSON.stringify(config));
  const start = performance.now();
  const service = await startService(
    {
      name: 'centrifugo',
      command: [program, '--config', 'config.json'],
      port,
      readyPath: '/health',
      env: {},
      cwd: directory,
    },
    cleanup,
  );
  const startSeconds = (performance.now() - start) / 1000;
  await delay(IDLE_MS);
  const users = Array.from({ length: userCount }, () => {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId: randomUUID() };
    return { id: session.userId, token: issueAccessToken(session).token };
  });
  const footprint = {
    target: service.name,
    startSeconds,
    idleMiB: residentMemory(service.pid) / 1024,
    installedMiB: statSync(program).size / 2 ** 20,
  };
  return { ...service, users, footprint };
}
