import type { Socket } from 'socket.io';
import type { ChannelEvent, Session } from '../../events.js';
import { encode, send, type Outgoing } from './outgoing.js';
import { closeSoon, transportOf } from './transport.js';

/** Why a session's socket is closed by the service (contract §7). */
export type Ending = 'expired' | 'signed_out' | 'shutdown' | 'overloaded' | 'revoked';

/** What may wait in memory for a client to read: packets, and bytes. The rest waits in the history. */
const LONGEST_QUEUE = 500;
const LARGEST_QUEUE = 1024 * 1024;

/** One open socket, and its session; it lives exactly as long as its session's access token. */
export class Connection {
  /** Nothing is delivered after it. Milliseconds since the epoch, by the database's clock. */
  expiresAt: number;
  /** The key that signed its token. */
  kid: string;
  /** Whether it has been told that its token is about to expire. */
  warned = false;
  /** The offset up to which it has been given its user's history; undefined until it was told `ready`. */
  position?: number;
  /** When it was there to be given events; milliseconds since the epoch, by the database's clock. */
  since = Infinity;
  /** Whether it is being given the history; live events then reach it from there. */
  reading = false;
  /** Why the service ends it; undefined while it does not. */
  private ending: Ending | undefined;

  /** @param token what its token says: when it expires, in seconds, and which key signed it */
  constructor(
    private readonly socket: Socket,
    readonly session: Session,
    token: { readonly exp: number; readonly kid: string },
    private readonly now: () => number,
  ) {
    this.expiresAt = token.exp * 1000;
    this.kid = token.kid;
  }

  /** False once its end was announced. */
  get isOpen(): boolean {
    return this.socket.connected && !this.ending;
  }

  /** Why it is closed, once it is. */
  get closedBy(): Ending | 'client' {
    return this.ending ?? 'client';
  }

  /** Whether its client reads more slowly than the service writes. */
  get isFull(): boolean {
    const { writeBuffer } = transportOf(this.socket);
    if (writeBuffer.length >= LONGEST_QUEUE) return true;
    return writeBuffer.reduce((sum, { data }) => sum + (data?.length ?? 0), 0) >= LARGEST_QUEUE;
  }

  /**
   * Gives an event to connections, except those of another device than the event's, and those whose token has expired.
   * @returns to how many
   */
  static deliver(event: ChannelEvent, connections: readonly Connection[]): number {
    let outgoing: Outgoing | undefined;
    let count = 0;
    for (const connection of connections) {
      if (!connection.mayReceive(event)) continue;
      const { socket } = connection;
      outgoing ??= encodeEvent(socket, event); // once for all
      send(transportOf(socket), outgoing);
      count++;
    }
    return count;
  }

  private mayReceive({ deviceId }: ChannelEvent): boolean {
    if (deviceId !== null && deviceId !== this.session.deviceId) return false;
    return this.isOpen && this.now() < this.expiresAt; // else its end is due at the next tick
  }

  /** Sends an event of the service itself to this socket. */
  tell(event: 'ready' | 'token.expiring', data: object): void {
    this.socket.emit(event, data);
  }

  /** Resolves when the waiting packets are on their way to the client, or the client is gone. */
  async drained(): Promise<void> {
    const transport = transportOf(this.socket);
    if (transport.writeBuffer.length === 0 || transport.readyState === 'closed') return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        transport.off('drain', done).off('close', done);
        resolve();
      };
      transport.on('drain', done).on('close', done);
    });
  }

  /**
   * Says why, and closes. After `expired` and `signed_out` the server disconnects, so that a stock client stays away;
   * after the others the transport closes, so that it comes back by itself.
   */
  end(reason: Ending): void {
    if (!this.isOpen) return;
    this.ending = reason;
    this.socket.emit('session.ended', { reason });
    if (reason === 'expired' || reason === 'signed_out') this.socket.disconnect();
    closeSoon(transportOf(this.socket));
  }
}

function encodeEvent(socket: Socket, { event, data, id, offset, sentAt: sent_at }: ChannelEvent): Outgoing {
  return encode(socket, event, data, { id, offset, sent_at });
}
