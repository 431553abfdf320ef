import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests of a connection may wait for their answers to be read. Browsers and proxies send one at a time. */
const MOST = 16;
/** A connection without any traffic for this long is taken for dead. Longer than a poll of Engine.IO waits. */
const SILENCE_MS = 60_000;

const waiting = new WeakMap<Socket, number>();

/**
 * Bounds the answers that a connection holds in memory: Node.js takes all requests that were sent at once, about 1,500 in
 * 64 KiB, and keeps their answers until they are read. A connection with more than MOST under way is cut off.
 */
export function boundUnreadAnswers(server: Server): void {
  server.timeout = SILENCE_MS;
  const emit = server.emit.bind(server) as (...event: unknown[]) => boolean;
  // Before any listener: Engine.IO puts its own in front of all others.
  server.emit = (...event: unknown[]) => (event[0] === 'request' && !admits(event) ? true : emit(...event));
}

function admits([, request, response]: unknown[]): boolean {
  const { socket } = request as IncomingMessage;
  if (socket.destroyed) return false;
  const count = (waiting.get(socket) ?? 0) + 1;
  if (count > MOST) {
    socket.destroy();
    return false;
  }
  waiting.set(socket, count);
  (response as ServerResponse).once('close', () => waiting.set(socket, waiting.get(socket)! - 1));
  return true;
}
