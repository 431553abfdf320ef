import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { exchangesOn } from './unread-answers.js';
import { refuseOn } from './unreadable-requests.js';

const SOCKETS = '/socket.io/'; // Engine.IO handles its upgrades
const LONGEST_MS = 10_000;
const LINGER_MS = 1000;

/**
 * Answers requests with an `Upgrade` header that we do not serve (h2c, or a WebSocket on another path) as if the header were
 * not there: a server may ignore it (RFC 9110 §7.8).
 *
 * Node.js hands such a connection over completely: it no longer listens for its errors, the first of which would end the
 * process, and no longer reads from it, so that it would not see its end. Both are done here, and it lives 10 s at most.
 */
export function answerForeignUpgrades(server: Server, Response: typeof ServerResponse): void {
  server.prependListener('upgrade', (request, stream) => {
    if (request.url?.startsWith(SOCKETS)) return;
    const socket = stream as Socket;
    socket.on('error', () => undefined);
    socket.resume();
    setTimeout(() => socket.destroy(), LONGEST_MS).unref();
    if (exchangesOn(socket).underWay.length > 0) return socket.destroySoon(); // ours would be taken for the answer to an earlier request
    const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
    // Node's parser is detached, so nothing would read the body.
    if (chunked !== undefined || (length !== undefined && length !== '0')) return refuseOn(socket);
    const response = new Response(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      return socket.destroy(); // the answer to an earlier request is still being sent
    }
    response.once('finish', () => {
      socket.destroySoon();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    });
    server.emit('request', request, response);
  });
}
