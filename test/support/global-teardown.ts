import { once } from 'node:events';

/** Stops the run's PostgreSQL. */
export default async function globalTeardown(): Promise<void> {
  const server = globalThis.testServer;
  if (!server || server.exitCode !== null) return;
  const exit = once(server, 'exit');
  server.disconnect();
  await exit;
}
