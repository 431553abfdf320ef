import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { exchangesOn } from './unread-answers.js';

/** Result of llhttp's callback: parsing ends after the head, and the `upgrade` listeners get the connection. */
const DETACH = 2;

interface Parsed {
  readonly parser: { onIncoming: (request: IncomingMessage, keepAlive: boolean) => number };
}

/**
 * Ignores `Upgrade` headers that the service does not offer (RFC 9110 §7.8): the request is parsed again without the header.
 * Node.js would either not read its body, or lose what follows it in the same packet.
 */
export function ignoreForeignUpgrades(
  server: Server,
  isOffered: (request: IncomingMessage) => boolean,
): void {
  const [parse] = server.listeners('connection') as [(socket: Socket) => void]; // Node.js's own, which attaches a parser
  server.on('connection', watch);

  function watch(socket: Socket): void {
    const { parser } = socket as unknown as Parsed;
    const { onIncoming } = parser;
    parser.onIncoming = (request, keepAlive) =>
      isForeign(request) ? DETACH : onIncoming(request, keepAlive);
  }

  function isForeign(request: IncomingMessage & { readonly upgrade?: boolean }): boolean {
    return request.upgrade === true && request.method !== 'CONNECT' && !isOffered(request);
  }

  server.prependListener('upgrade', (request, stream, rest) => {
    if (isOffered(request)) return;
    const socket = stream as Socket;
    const lost = (): void => void socket.destroy();
    socket.on('error', lost).on('timeout', lost); // there is no other listener until it is parsed again
    const again = (): void => {
      if (socket.destroyed) return;
      socket.unshift(Buffer.concat([headOf(request), rest]));
      parse.call(server, socket);
      watch(socket);
      socket.off('error', lost).off('timeout', lost);
    };
    const earlier = exchangesOn(socket).pending.at(-1); // a new parser does not know pending answers
    if (earlier) earlier.once('close', again);
    else again();
  });
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() !== 'upgrade') head += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return Buffer.from(`${head}\r\n`, 'latin1');
}
