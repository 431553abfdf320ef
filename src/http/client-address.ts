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
export function clientAddress(message: IncomingMessage, app: Express): string | undefined {
  // Express's getter asks the message for its application.
  return ip.get!.call(Object.create(message, { app: { value: app } })) as string | undefined;
}
