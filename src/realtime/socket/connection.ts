import { once } from 'node:events';
import type { Socket } from 'socket.io';
import type { ChannelEvent, EndCause, SessionIds } from '../../platform/events.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { encode, send, type Outgoing } from './outgoing.js';
import { closeSoon, toTransport } from './transport.js';

/** Why the service closes a socket (docs/realtime.md#what-the-service-sends). */
export type Ending = 'expired' | 'signed_out' | 'shutdown' | 'overloaded' | 'revoked';

/** Unread packets, and bytes, in memory; further events wait in the history. */
const LONGEST_QUEUE = 500;
const LARGEST_QUEUE = 1024 * 1024;

export class Connection {
  readonly session: SessionIds;
  /** Nothing is delivered afterwards. Milliseconds since the epoch, by the database's clock. */
  expiresAt: number;
  kid: string;
  /** When the registry has to look at it again: to announce the expiry, or to end it. */
  dueAt = Infinity;
  /** Offset up to which the history was delivered; undefined before `ready`. */
  position?: number;
  /** When it began to receive events; milliseconds since the epoch, by the database's clock. */
  since = Infinity;
  /** Whether the history is being delivered, which live events wait for. */
  reading = false;
  /** Undefined while it is open, and if the client closed it. */
  ending: Ending | undefined;

  constructor(
    private readonly socket: Socket,
    { session, claims, kid }: VerifiedToken,
    private readonly now: () => number,
  ) {
    this.session = session;
    this.expiresAt = claims.exp * 1000;
    this.kid = kid;
  }

  get isOpen(): boolean {
    return this.socket.connected && !this.ending;
  }

  /** RFC 3339. */
  get expiry(): string {
    return new Date(this.expiresAt).toISOString();
  }

  /** Whether the client reads more slowly than the service writes. */
  get isFull(): boolean {
    const { writeBuffer } = toTransport(this.socket);
    if (writeBuffer.length >= LONGEST_QUEUE) return true;
    return writeBuffer.reduce((sum, { data }) => sum + (data?.length ?? 0), 0) >= LARGEST_QUEUE;
  }

  mayReceive({ deviceId }: ChannelEvent): boolean {
    if (deviceId !== null && deviceId !== this.session.deviceId) return false;
    return this.isOpen && this.now() < this.expiresAt;
  }

  /** Encodes an event, for any connection. @throws RangeError (see `encode`) */
  encode({ event, data, id, offset, sentAt: sent_at }: ChannelEvent): Outgoing {
    return encode(this.socket, event, data, { id, offset, sent_at });
  }

  send(outgoing: Outgoing): void {
    send(toTransport(this.socket), outgoing);
  }

  /** Sends an event that no history has. */
  emit(event: 'ready' | 'token.expiring', data: object): void {
    this.socket.emit(event, data);
  }

  /** Resolves when all packets were handed to the network, or the client is gone. */
  async drained(): Promise<void> {
    const transport = toTransport(this.socket);
    if (transport.writeBuffer.length === 0 || transport.readyState === 'closed') return;
    const done = new AbortController();
    const { signal } = done;
    await Promise.race([once(transport, 'drain', { signal }), once(transport, 'close', { signal })]);
    done.abort();
  }

  /**
   * Sends the reason, and closes. Stock clients reconnect after a closed transport, not after a disconnect by
   * the server.
   */
  end(reason: Ending, cause: EndCause | null = null): void {
    if (!this.isOpen) return;
    this.ending = reason;
    this.socket.emit('session.ended', { reason, ...(cause !== null && { cause }) });
    if (reason === 'expired' || reason === 'signed_out') this.socket.disconnect();
    closeSoon(toTransport(this.socket));
  }
}
