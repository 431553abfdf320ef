import type { Server } from 'socket.io';
import type { Transport } from './transport.js';

/** Messages a second that a client may send, and how many at once (contract §7). */
const PER_SECOND = 20;
const BURST = 50;

/**
 * Counts what clients send, from the first byte on and whatever it is, and calls `onExceeded` with the transport of the
 * one that sends too much: a bucket of BURST messages that fills up again at PER_SECOND.
 */
export function limitMessages(server: Server, onExceeded: (transport: Transport) => void): void {
  server.engine.on('connection', (transport: Transport) => {
    let left = BURST;
    let countedAt = performance.now();
    transport.on('packet', () => {
      const now = performance.now();
      left = Math.min(BURST, left + ((now - countedAt) / 1000) * PER_SECOND) - 1;
      countedAt = now;
      if (left < 0) onExceeded(transport);
    });
  });
}
