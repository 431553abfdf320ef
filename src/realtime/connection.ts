import type { Socket } from 'socket.io';
import type { ChannelEvent } from '../channel/channel-event.js';
import type { Session } from '../events.js';
import { transportOf } from './transport.js';

/** Why a session's socket is closed by the service (contract §7). */
export type Ending = 'expired' | 'signed_out' | 'shutdown' | 'overloaded';

/** Packets that may wait for a client to read; one that lets more pile up is closed. */
const LONGEST_QUEUE = 500;
/** How long a client may take to read the farewell. */
const FAREWELL_MS = 1000;

/** One open socket, and the session that it lives exactly as long as. */
export class Connection {
  /** Nothing is delivered after it. Milliseconds since the epoch, by the database's clock. */
  expiresAt: number;
  /** Whether it has been told that its token is about to expire. */
  warned = false;
  /** The offset up to which it has been given its user's history; it follows the live events once it has caught up. */
  position = 0;
  live = false;
  /** Whether it has been told that it is ready: nothing comes before. */
  welcomed = false;
  private ending = false;

  constructor(
    private readonly socket: Socket,
    readonly session: Session,
    expiresAtSeconds: number,
    private readonly now: () => number,
  ) {
    this.expiresAt = expiresAtSeconds * 1000;
  }

  /** Not any more once its end was said. */
  get isOpen(): boolean {
    return this.socket.connected && !this.ending;
  }

  /** Gives it an event, if that is for its device and its token has not expired. */
  deliver(event: ChannelEvent): void {
    if (event.deviceId !== null && event.deviceId !== this.session.deviceId) return;
    if (this.ending || this.now() >= this.expiresAt) return; // its end is due at the next tick
    if (transportOf(this.socket).writeBuffer.length >= LONGEST_QUEUE) return this.end('overloaded');
    const { id, offset, sentAt: sent_at } = event;
    this.socket.emit(event.event, event.data, { id, offset, sent_at });
  }

  /** Something that the service itself says to this socket. */
  tell(event: 'ready' | 'token.expiring', data: object): void {
    this.socket.emit(event, data);
  }

  /** Resolves when the client has been sent all that was written, or is gone. */
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
    this.ending = true;
    this.socket.emit('session.ended', { reason });
    const transport = transportOf(this.socket);
    if (reason === 'expired' || reason === 'signed_out') this.socket.disconnect(true);
    else transport.close(); // once that has been sent
    setTimeout(() => transport.close(true), FAREWELL_MS).unref(); // who does not read is not waited for
  }
}
