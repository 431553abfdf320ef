import type { IncomingMessage } from 'node:http';
import express, { type Express } from 'express';

const ip = Object.getOwnPropertyDescriptor(express.request, 'ip')!;

/**
 * The address of a client as Express's `request.ip` has it, which honours `trust proxy`. Works also for a message that
 * Express has never seen, such as the handshake of a socket.
 *
 * @param app whose `trust proxy` counts
 * @returns undefined where the connection is closed already
 */
export function clientAddress({ headers, socket }: IncomingMessage, app: Express): string | undefined {
  // Just what Express's getter looks at. If the object inherited from the message, V8 would give each message a shape of its
  // own: some KiB for as long as the socket lives.
  return ip.get!.call({ app, headers, socket, connection: socket }) as string | undefined;
}
