import type { IncomingMessage } from 'node:http';
import express, { type Express } from 'express';

const ip = Object.getOwnPropertyDescriptor(express.request, 'ip')!;

/**
 * The address of a client as `request.ip` of Express has it, which honours `trust proxy`: also of a message that Express
 * has never seen, such as the handshake of a socket.
 *
 * @param app whose `trust proxy` counts
 * @returns undefined where the connection was closed before anybody asked
 */
export function clientAddress({ headers, socket }: IncomingMessage, app: Express): string | undefined {
  // What Express's getter looks at. Not an object that inherits from the message: V8 would give each message a shape of
  // its own for that, some KiB for as long as the socket lives.
  return ip.get!.call({ app, headers, socket, connection: socket }) as string | undefined;
}
