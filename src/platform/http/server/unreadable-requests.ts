import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OAuthError } from '../../errors/oauth-error.js';
import { endSoon } from './ending.js';
import { refusalText, refuse } from './refusal.js';
import { exchangesOn } from './unread-answers.js';

const UNREADABLE = new OAuthError('invalid_request', 'the request could not be read', {
  headers: { Connection: 'close' },
});

/**
 * Answers requests that Node.js rejects (a malformed or large head, a timeout, an unknown `Expect`) with an
 * error in the service's format. A connection without a request gets no answer.
 */
export function refuseUnreadableRequests(
  server: Server,
  clock: Pick<DateConstructor, 'now'>,
  onRefusal?: () => void,
): void {
  const ending = new WeakSet<Socket>();
  server.on('clientError', (_error, stream) => {
    const socket = stream as Socket;
    if (!socket.writable || ending.has(socket)) return;
    if (socket.bytesRead === 0) return endUnused(socket);
    ending.add(socket);
    onRefusal?.();
    refuseAfterEarlier(socket, () => refusalText(UNREADABLE, clock.now()));
  });
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    onRefusal?.();
    refuse(response, UNREADABLE);
  });
}

/** Closes an unused connection, unless its first request waits to be read (`setImmediate`). */
function endUnused(socket: Socket): void {
  setImmediate(() => socket.bytesRead === 0 && socket.destroy());
}

/** Answers after all earlier requests of the connection: a client must not take this for their answer. */
function refuseAfterEarlier(socket: Socket, textOf: () => string): void {
  if (!socket.writable) return;
  const { last, pending } = exchangesOn(socket);
  // else the error is of a later request
  const own = last?.request.complete === false ? last.response : undefined;
  const earlier = pending.filter((response) => response !== own).at(-1);
  if (!earlier) return endSoon(socket, own?.headersSent ? undefined : textOf());
  if (pending.length === 1 && earlier.headersSent) return endSoon(socket); // a stream, which need not end
  earlier.once('close', () => refuseAfterEarlier(socket, textOf));
}
