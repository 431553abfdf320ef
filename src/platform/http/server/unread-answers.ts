import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isEnding } from './ending.js';

/** Answers that may be pending on a connection. Browsers and proxies send one request at a time. */
const MAX_PENDING = 16;

interface Exchanges {
  /** Answers that are not written yet, in the order of their requests. */
  readonly pending: ServerResponse[];
  /** The latest request, until it is read and answered. */
  last?: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined;
}

const exchanges = new WeakMap<Socket, Exchanges>();

export function exchangesOn(socket: Socket): Exchanges {
  return exchanges.get(socket) ?? { pending: [] };
}

/**
 * Records the answer of a request, and closes a connection with more than MAX_PENDING: Node.js accepts about
 * 1,500 requests in 64 KiB, and keeps their answers. The request log then drops the request.
 */
export function trackAnswer(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  if (isEnding(socket)) return;
  let own = exchanges.get(socket);
  if (!own) exchanges.set(socket, (own = { pending: [] }));
  if (own.pending.length === MAX_PENDING) {
    socket.destroy();
    return;
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
}
