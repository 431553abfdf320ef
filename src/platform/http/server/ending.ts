import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes of the body that are read after an answer. */
const LINGER_BYTES = 256 * 1024;
/** Time for a client that is still sending to read the answer (RFC 9112 §9.6). */
const LINGER_MS = 1000;

const ending = new WeakSet<Socket>();

/** Whether a connection is closed, or closes after an answer: its further requests are not processed. */
export function isEnding(socket: Socket): boolean {
  return socket.destroyed || ending.has(socket);
}

export function sendsBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  return coding !== undefined || (length !== undefined && length !== '0');
}

/**
 * Closes the connection after an answer if the body of its request has not arrived whole. A proxy that sends
 * a length without a body would otherwise have the next request read as that body.
 */
export function endIfUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || !sendsBody(request)) return;
  const { socket } = request;
  response.setHeader('Connection', 'close');
  ending.add(socket);
  // Node.js calls it after the answer. Its own closes at once: the kernel resets a client that is sending.
  socket.destroySoon = () => {
    let left = LINGER_BYTES;
    request.on('data', ({ length }: Buffer) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
    request.resume(); // read by half, if it was too large
    endSoon(socket);
  };
}

/** Half-closes a connection after a last text: a client that is still sending would lose it to a reset. */
export function endSoon(socket: Socket, text = ''): void {
  ending.add(socket);
  socket.end(text);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
