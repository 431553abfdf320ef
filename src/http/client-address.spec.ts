import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { clientAddress } from './network.js';

/** Messages of Node's own class, which know nothing of Express. */
describe('the address of a client', () => {
  const server = createServer();
  let message: IncomingMessage;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    get({ port, headers: { 'X-Forwarded-For': '192.0.2.1, 192.0.2.2' } }).on('error', () => undefined);
    [message] = (await once(server, 'request')) as [IncomingMessage];
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each([
    [false, '127.0.0.1'],
    [1, '192.0.2.2'],
    [2, '192.0.2.1'],
    [true, '192.0.2.1'],
    ['loopback', '192.0.2.2'],
    ['loopback,192.0.2.0/24', '192.0.2.1'],
    ['10.0.0.0/8', '127.0.0.1'],
  ])('with trust proxy %j: %s', (trustProxy, address) => {
    const app = express().set('trust proxy', trustProxy);
    expect(clientAddress(message, app)).toBe(address);
    expect(message).not.toHaveProperty('app');
  });
});
