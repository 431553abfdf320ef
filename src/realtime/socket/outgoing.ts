import type { Duplex } from 'node:stream';
import type { Socket } from 'socket.io';
import { rawSockets, type Transport } from './transport.js';

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
