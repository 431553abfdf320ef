import { once } from 'node:events';
import { rmSync } from 'node:fs';

/** Stops the run's PostgreSQL, and removes its tarballs and whatever is left in its directory. */
export default async function globalTeardown(): Promise<void> {
  const tarballs = process.env['TEST_TARBALLS'];
  if (tarballs) rmSync(tarballs, { recursive: true, force: true });
  const server = globalThis.testServer;
  if (server && server.exitCode === null) {
    const exit = once(server, 'exit');
    server.disconnect();
    await exit;
  }
  if (globalThis.testDirectory) rmSync(globalThis.testDirectory, { recursive: true, force: true });
}
