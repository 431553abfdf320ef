import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { exchangesOn } from './unread-answers.js';

/**
 * Ignores `Upgrade` headers that the service does not offer (RFC 9110 §7.8), as Java's HttpClient sends by
 * default. The request is read again without the header, since Node.js does not read its body. Its option
 * `shouldUpgradeCallback` reads the body, but loses a request behind it in the same packet.
 */
export function ignoreForeignUpgrades(
  server: Server,
  isOffered: (request: IncomingMessage) => boolean,
): void {
  server.prependListener('upgrade', (request, stream, rest) => {
    if (isOffered(request)) return;
    const socket = stream as Socket;
    const lost = (): void => void socket.destroy();
    socket.on('error', lost).on('timeout', lost); // there is no other listener until it is read again
    const again = (): void => {
      if (socket.destroyed) return;
      socket.unshift(Buffer.concat([headOf(request), rest]));
      server.emit('connection', socket);
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
