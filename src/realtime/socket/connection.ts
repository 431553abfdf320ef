import { once } from 'node:events';
import type { Socket } from 'socket.io';
import type { ChannelEvent, EndCause, SessionIds } from '../../platform/events.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { closeSoon, toTransport, rawSockets, type Transport } from './transport.js';
import type { Duplex } from 'node:stream';

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

/**
 * Names that Socket.IO refuses to emit: its clients would take such an event for their own. A stored row may
 * have one.
 */
const SOCKET_IO_NAMES = /^(?:connect|connect_error|disconnect|disconnecting|newListener|removeListener)$/;
const EVENT = 2;
const OPEN = 1;
/** RFC 6455 §5.2: the last fragment, of text; a server sends no mask. */
const TEXT = 0x81;
const MESSAGE = '4'.charCodeAt(0);

export interface Outgoing {
  /** For long polling, and for the queue of Engine.IO. */
  readonly packet: string;
  readonly frame: Buffer;
}

/**
 * Encodes an event for any socket of the server.
 * @throws for a name of Socket.IO, and for data that is too deep for its recursion
 */
export function encode({ nsp }: Socket, event: string, ...args: unknown[]): Outgoing {
  if (SOCKET_IO_NAMES.test(event)) throw new Error(`"${event}" is reserved by Socket.IO`);
  const [packet] = nsp.server.encoder.encode({ type: EVENT, nsp: nsp.name, data: [event, ...args] }) as [
    string,
  ];
  return { packet, frame: encodeFrame(packet) };
}

/**
 * Sends an event. If no packet waits, the frame is written directly to the stream of the WebSocket,
 * which takes less CPU time; otherwise Engine.IO queues the packet, keeps the order and counts it
 * (`Connection.isFull`).
 */
export function send(transport: Transport, { packet, frame }: Outgoing): void {
  const raw = findIdleSocket(transport);
  if (raw) raw.write(frame);
  else transport.send(packet);
}

/** @returns the stream of a WebSocket, if its client has read everything */
function findIdleSocket({ writeBuffer, transport }: Transport): Duplex | undefined {
  const { socket } = transport;
  if (socket?.readyState !== OPEN || writeBuffer.length > 0) return undefined;
  const raw = rawSockets.get(socket);
  return raw && !raw.writableNeedDrain ? raw : undefined;
}

/**
 * Encodes a packet as one WebSocket frame (RFC 6455 §5.2). Head and text are one buffer: `ws` would write
 * two.
 */
function encodeFrame(packet: string): Buffer {
  const length = 1 + Buffer.byteLength(packet);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + length);
  frame[0] = TEXT;
  if (head === 2) frame[1] = length;
  else if (head === 4) frame.writeUInt16BE(length, frame.writeUInt8(126, 1));
  else frame.writeBigUInt64BE(BigInt(length), frame.writeUInt8(127, 1));
  frame[head] = MESSAGE;
  frame.write(packet, head + 1);
  return frame;
}
