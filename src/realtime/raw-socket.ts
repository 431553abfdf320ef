import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

const sockets = new WeakMap<WebSocket, Duplex>();

/** Remembers what a WebSocket writes to: `ws` keeps it to itself. */
export function rememberRawSocket(webSocket: WebSocket, socket: Duplex): void {
  sockets.set(webSocket, socket);
}

/** What a WebSocket of LimitedWebSocketServer writes to. */
export function rawSocketOf(webSocket: WebSocket): Duplex | undefined {
  return sockets.get(webSocket);
}
