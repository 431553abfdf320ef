import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'socket.io';
import type { WebSocket } from 'ws';

/** How long a client may take to read its last packets. So short that a session's end closes its sockets within a second. */
const FAREWELL_MS = 400;

/** What we use of Engine.IO's side of a socket; its typings leave some of it private. */
export interface Transport extends EventEmitter {
  readonly readyState: string;
  /** Packets that wait for the client to read. */
  readonly writeBuffer: readonly { readonly data?: string | Buffer }[];
  /** The request that it began with; undefined once its socket is open. */
  request: IncomingMessage | undefined;
  readonly transport: {
    /** The WebSocket; undefined with long polling. */
    readonly socket?: WebSocket;
    /** Closes long polling that waits for its next poll in order to close. */
    readonly shouldClose?: (() => void) | null;
  };
  /** Sends a packet of Socket.IO. */
  send(packet: string): void;
  /** @param discard closes without waiting until the packets are read */
  close(discard?: boolean): void;
}

export function transportOf(socket: Socket): Transport {
  return socket.conn as unknown as Transport;
}

/** Closes once the client has read what was sent; one that does not read, or does not answer, is not waited for. */
export function closeSoon(transport: Transport): void {
  transport.close();
  setTimeout(() => closeNow(transport), FAREWELL_MS).unref();
}

/** Closes at once, whatever the client does. Long polling that is closing already would wait 30 s for a poll. */
export function closeNow(transport: Transport): void {
  transport.close(true);
  transport.transport.shouldClose?.();
  transport.transport.socket?.terminate();
}
