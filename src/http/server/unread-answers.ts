import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests of a connection may wait for their answers to be read. Browsers and proxies send one at a time. */
const MOST = 16;
/** A connection without any traffic for this long is taken for dead. Longer than a poll of Engine.IO waits. */
const SILENCE_MS = 60_000;

/** What goes on on a connection. */
interface Exchanges {
  /** Answers that are not written yet, in the order of their requests. */
  readonly underWay: ServerResponse[];
  /** The request that came last, until it is read and answered. */
  last?: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined;
}

const exchanges = new WeakMap<Socket, Exchanges>();

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

/** Of a connection to a server whose unread answers are bounded. */
export function exchangesOn(socket: Socket): Exchanges {
  return exchanges.get(socket) ?? { underWay: [] };
}

function admits([, ...event]: unknown[]): boolean {
  const [request, response] = event as [IncomingMessage, ServerResponse];
  const { socket } = request;
  if (socket.destroyed) return false;
  const own = exchangesOn(socket);
  if (own.underWay.length === MOST) {
    socket.destroy();
    return false;
  }
  exchanges.set(socket, own);
  own.underWay.push(response);
  const last = (own.last = { request, response });
  const forget = (): void => {
    if (own.last === last && request.complete) own.last = undefined; // idle connections keep nothing
  };
  response.once('close', () => {
    own.underWay.splice(own.underWay.indexOf(response), 1);
    if (!request.complete) request.once('end', forget);
    forget();
  });
  return true;
}
