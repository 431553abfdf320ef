import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers that may be pending on a connection. Browsers and proxies send one request at a time. */
const MAX_PENDING = 16;
/** A connection without traffic for this long is closed. Longer than a poll of Engine.IO waits. */
const SILENCE_MS = 60_000;

interface Exchanges {
  /** Answers that are not written yet, in the order of their requests. */
  readonly pending: ServerResponse[];
  /** The latest request, until it is read and answered. */
  last?: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined;
}

const exchanges = new WeakMap<Socket, Exchanges>();

/** Closes a connection with more than MAX_PENDING answers: Node.js accepts about 1,500 requests in 64 KiB, and keeps their answers. */
export function boundUnreadAnswers(server: Server): void {
  server.timeout = SILENCE_MS;
  const emit = server.emit.bind(server) as (...event: unknown[]) => boolean;
  // Not a listener: Engine.IO puts its own before all others.
  server.emit = (...event: unknown[]) => (event[0] === 'request' && !admits(event) ? true : emit(...event));
}

export function exchangesOn(socket: Socket): Exchanges {
  return exchanges.get(socket) ?? { pending: [] };
}

function admits([, ...event]: unknown[]): boolean {
  const [request, response] = event as [IncomingMessage, ServerResponse];
  const { socket } = request;
  if (socket.destroyed) return false;
  let own = exchanges.get(socket);
  if (!own) exchanges.set(socket, (own = { pending: [] }));
  if (own.pending.length === MAX_PENDING) {
    socket.destroy();
    return false;
  }
  own.pending.push(response);
  const last = (own.last = { request, response });
  const forget = (): void => {
    if (own.last === last && request.complete) own.last = undefined; // idle connections hold no memory
  };
  response.once('close', () => {
    own.pending.splice(own.pending.indexOf(response), 1);
    if (!request.complete) request.once('end', forget);
    forget();
  });
  return true;
}
