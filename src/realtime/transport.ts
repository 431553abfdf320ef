import { EventEmitter } from 'node:events';
import type { Socket } from 'socket.io';

/** What we use of Engine.IO's side of a socket, some of which its typings keep to themselves. */
export interface Transport extends EventEmitter {
  readonly readyState: string;
  /** Packets that wait for the client to read. */
  readonly writeBuffer: readonly unknown[];
  /** @param discard not to wait until they are read */
  close(discard?: boolean): void;
}

export function transportOf(socket: Socket): Transport {
  return socket.conn as unknown as Transport;
}
