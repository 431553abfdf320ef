import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'socket.io';
import type { WebSocket } from 'ws';

/**
 * How long a client may take to read its last packets: the end of a session closes its sockets within 1 s
 * (docs/realtime.md#what-the-service-sends).
 */
const CLOSE_TIMEOUT_MS = 400;

/** The part of Engine.IO's socket that we use; its typings leave some of it private. */
export interface Transport extends EventEmitter {
  readonly readyState: string;
  /** Packets that the client has not read. */
  readonly writeBuffer: readonly { readonly data?: string | Buffer }[];
  /** The handshake's request; undefined once the socket is open. */
  request: IncomingMessage | undefined;
  readonly transport: {
    /** Undefined with long polling. */
    readonly socket?: WebSocket;
    /** Closes long polling that waits for its next poll in order to close. */
    readonly shouldClose?: (() => void) | null;
  };
  /** Sends a packet of Socket.IO. */
  send(packet: string): void;
  /** @param discard closes without waiting until the packets are read */
  close(discard?: boolean): void;
}

export function toTransport(socket: Socket): Transport {
  return socket.conn as unknown as Transport;
}

/** Closes once the client has read all packets, or after 400 ms. */
export function closeSoon(transport: Transport): void {
  transport.close();
  setTimeout(() => closeNow(transport), CLOSE_TIMEOUT_MS).unref();
}

/** Closes without waiting for the client; long polling would otherwise wait 30 s for its next poll. */
export function closeNow(transport: Transport): void {
  transport.close(true);
  transport.transport.shouldClose?.();
  transport.transport.socket?.terminate();
}

/** Streams that WebSockets write to; `ws` keeps them private. */
export const rawSockets = new WeakMap<WebSocket, Duplex>();
