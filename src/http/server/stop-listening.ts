import type { Server } from 'node:http';

/** No longer than this from asking the kernel for connections to closing. */
const QUIET_MS = 0.5;
const LONGEST_SEARCH_MS = 3000;

/**
 * Stops listening; connections that are open stay. Those that the kernel has taken and the process has not are reset by this,
 * and with them requests that have been sent, which a proxy must not send again (RFC 9110 §9.2.2). So it waits, 3 s at
 * most, for a turn of the event loop that found no new connection and was short, and closes at the end of that turn.
 */
export function stopListening(server: Server): Promise<void> {
  const giveUp = performance.now() + LONGEST_SEARCH_MS;
  return new Promise((resolve) => {
    const turn = (): void => {
      const began = performance.now();
      let isQuiet = true;
      const disturb = (): void => void (isQuiet = false);
      server.once('connection', disturb);
      setImmediate(() => {
        server.off('connection', disturb);
        const now = performance.now();
        if (now < giveUp && !(isQuiet && now - began < QUIET_MS)) return turn();
        server.close();
        resolve();
      });
    };
    setImmediate(turn);
  });
}
