import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { refuseOn } from './unreadable-requests.js';

const SOCKETS = '/socket.io/'; // whose upgrades are Engine.IO's
const LONGEST_MS = 10_000;
const LINGER_MS = 1000;

/**
 * Answers requests that offer another protocol (`Upgrade: h2c`, or a WebSocket where there are none) as if they did not:
 * whoever does not upgrade ignores the header (RFC 9110 §7.8).
 *
 * Node.js lets go of such a connection altogether: nobody hears its errors, of which the first would end the process, and
 * nobody reads from it, so that its end is never seen. So both are done here, and it lives for 10 s at most.
 */
export function answerForeignUpgrades(server: Server, Response: typeof ServerResponse): void {
  server.prependListener('upgrade', (request, stream) => {
    if (request.url?.startsWith(SOCKETS)) return;
    const socket = stream as Socket;
    socket.on('error', () => undefined);
    socket.resume();
    setTimeout(() => socket.destroy(), LONGEST_MS).unref();
    const { 'content-length': length, 'transfer-encoding': chunked } = request.headers;
    // The parser is gone, and nobody would ever read the body.
    if (chunked !== undefined || (length !== undefined && length !== '0')) return refuseOn(socket);
    const response = new Response(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      return socket.destroy(); // an answer to a request before it is still under way
    }
    response.once('finish', () => {
      socket.destroySoon();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    });
    server.emit('request', request, response);
  });
}
