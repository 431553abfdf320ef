import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ANSWER_HEADERS } from './security-headers.js';

const BODY = JSON.stringify({ error: 'invalid_request', error_description: 'the request could not be read' });
const HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Length': BODY.length,
  ...ANSWER_HEADERS,
  Connection: 'close',
};

// Long enough to read the answer, also for who is still sending (RFC 9112 §9.6).
const LINGER_MS = 1000;

/**
 * What Node refuses before the application sees it (a malformed head, headers over 16 KiB, a request that never
 * ends, an unknown `Expect`) gets the contract's error as well (contract §3).
 */
export function refuseUnreadableRequests(server: Server): void {
  server.on('clientError', (_error, stream) => {
    const socket = stream as Socket;
    if (socket.writable) refuseOn(socket);
  });
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    response.writeHead(400, HEADERS).end(BODY);
  });
}

/** The same answer on a connection that has no response any more. */
export function refuseOn(socket: Socket): void {
  const head = Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${head.join('')}\r\n${BODY}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref(); // whoever never closes his side would keep the connection
}
