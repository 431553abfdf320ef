import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OAuthError } from '../../errors/oauth-error.js';
import { refusalText, refuse } from './refusal.js';
import { exchangesOn } from './unread-answers.js';

const UNREADABLE = new OAuthError('invalid_request', 'the request could not be read', {
  headers: { Connection: 'close' },
});

// Long enough to read the answer, also for a client that is still sending (RFC 9112 §9.6).
const LINGER_MS = 1000;

/**
 * Requests that Node refuses before the application sees them (a malformed head, headers over 16 KiB, a request that never
 * ends, an unknown `Expect`) get the contract's error as well (contract §3), wherever that is the answer which their client
 * waits for. A connection without a request gets none.
 *
 * @param told called for each of them
 */
export function refuseUnreadableRequests(server: Server, told: () => void): void {
  const ending = new WeakSet<Socket>();
  server.on('clientError', (_error, stream) => {
    const socket = stream as Socket;
    if (!socket.writable || ending.has(socket)) return;
    if (socket.bytesRead === 0) return endUnused(socket);
    ending.add(socket);
    told();
    refuseInTurn(socket);
  });
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    told();
    refuse(response, UNREADABLE);
  });
}

/** The same answer on a connection that has no response any more. */
function refuseOn(socket: Socket): void {
  socket.end(refusalText(UNREADABLE));
  destroyLater(socket);
}

/**
 * Opened ahead, as browsers and pools do, and not used in time: what it were told now might meet its first request on the way, and
 * be taken for the answer. Where the event loop stood still, that request may be here already: it is read before `setImmediate`.
 */
function endUnused(socket: Socket): void {
  setImmediate(() => socket.bytesRead === 0 && socket.destroy());
}

/** Our answer must not be taken for that to another request, nor for a part of it: it comes after those to earlier ones. */
function refuseInTurn(socket: Socket): void {
  if (!socket.writable) return;
  const { last, underWay } = exchangesOn(socket);
  const own = last?.request.complete === false ? last.response : undefined; // or else it is of a request that follows
  const earlier = underWay.filter((response) => response !== own).at(-1);
  if (!earlier) return own?.headersSent ? endOn(socket) : refuseOn(socket);
  if (underWay.length === 1 && earlier.headersSent) return endOn(socket); // a stream, which need not end
  earlier.once('close', () => refuseInTurn(socket));
}

/** Ends a connection after what was written to it. */
function endOn(socket: Socket): void {
  socket.destroySoon();
  destroyLater(socket);
}

function destroyLater(socket: Socket): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref(); // a client that never closes its side would keep the connection
}
