import type { Server } from 'socket.io';
import { takeOverCounting } from './frames.js';
import { MessageBucket } from './message-bucket.js';
import type { Transport } from './transport.js';

/** Packets that may wait for a client to read. Events stop long before (connection.ts); the rest answers its messages. */
const MOST_UNREAD = 1000;

/**
 * Counts everything that clients send, from the first byte on: packets of Engine.IO, and the control frames of WebSockets
 * (contract §7).
 * @param onExceeded called with the transport of a client that sends too much, or that does not read the answers it asked for
 */
export function limitMessages(server: Server, onExceeded: (transport: Transport) => void): void {
  server.engine.on('connection', (transport: Transport) => {
    const bucket = new MessageBucket();
    const count = (): void => {
      if (bucket.take() && transport.writeBuffer.length < MOST_UNREAD) return;
      transport.transport.socket?.pause(); // what it has sent already is not worth reading
      onExceeded(transport);
    };
    const { socket } = transport.transport;
    if (socket) return takeOverCounting(socket, count);
    transport.on('packet', () => transport.transport.socket ?? count()); // long polling has no frames
    transport.on('upgrading', (probed: Transport['transport']) => takeOverCounting(probed.socket!, count));
  });
}
