import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OAuthError } from '../errors/oauth-error.js';
import { refusalText, refuse } from './refusal.js';

const UNREADABLE = new OAuthError('invalid_request', 'the request could not be read', {
  headers: { Connection: 'close' },
});

// Long enough to read the answer, also for a client that is still sending (RFC 9112 §9.6).
const LINGER_MS = 1000;

/**
 * Requests that Node refuses before the application sees them (a malformed head, headers over 16 KiB, a request that never
 * ends, an unknown `Expect`) get the contract's error as well (contract §3). A connection without a request gets none.
 *
 * @param told called for each of them
 */
export function refuseUnreadableRequests(server: Server, told: () => void): void {
  server.on('clientError', (_error, stream) => {
    const socket = stream as Socket;
    if (!socket.writable) return;
    // Opened ahead, as browsers and pools do, and not used in time: what it were told now might meet its first request on the
    // way, and be taken for the answer.
    if (socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    told();
    refuseOn(socket);
  });
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    told();
    refuse(response, UNREADABLE);
  });
}

/** The same answer on a connection that has no response any more. */
export function refuseOn(socket: Socket): void {
  socket.end(refusalText(UNREADABLE));
  setTimeout(() => socket.destroy(), LINGER_MS).unref(); // a client that never closes its side would keep the connection
}
