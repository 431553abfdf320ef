import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { isDatabaseAway } from '../../errors/database-error.js';
import { BoundedPool } from './bounded-pool.js';
import { targetOf } from './connection-target.js';
import { DatabaseBusy, MOST_WAITING } from '../limits.js';

const AUTHENTICATED = Buffer.from('5200000008000000005a0000000549', 'hex'); // AuthenticationOk, ReadyForQuery

describe('the pool of connections', () => {
  const pool = new BoundedPool({ host: '127.0.0.1', port: 1, connectionTimeoutMillis: 100 });

  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['connect', () => pool.connect()],
    ['connect with a callback', () => new Promise((_, reject) => pool.connect((error) => reject(error!)))],
    ['query', () => pool.query('SELECT 1')],
  ])('refuses %s at once when too many wait', async (_name, call) => {
    jest.spyOn(pool, 'waitingCount', 'get').mockReturnValue(MOST_WAITING);
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DatabaseBusy);
    expect(isDatabaseAway(error)).toBe(true); // server_error with Retry-After
  });

  it('refuses calls that wait too long, and keeps the connection that comes later', async () => {
    let answer!: () => void;
    const server = createServer((socket) => {
      answer = () => socket.resume().write(AUTHENTICATED);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const limited = { host: '127.0.0.1', port, user: 'u', max: 1, connectionTimeoutMillis: 500 };
    const own = new BoundedPool(limited);
    for (const { status, reason } of (await Promise.allSettled([
      own.connect(), // opens the connection
      own.query('SELECT 1'), // waits for it
    ])) as PromiseRejectedResult[]) {
      expect([status, reason]).toEqual(['rejected', expect.any(DatabaseBusy)]);
    }
    answer();
    const client = await own.connect();
    expect(own.totalCount).toBe(1);
    client.release(true);
    await own.end();
    await new Promise((resolve) => server.close(resolve));
  });

  it('closes a connection that ends, or is refused, while it sets what the service relies on', async () => {
    const refusal = Buffer.from('E\0\0\0\x20SERROR\0C42501\0Mnot allowed\0\0Z\0\0\0\x05I', 'latin1');
    for (const refuses of [false, true]) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => {
          socket.write(AUTHENTICATED);
          socket.once('data', () => (refuses ? socket.write(refusal) : socket.destroy()));
        });
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`;
      const own = new BoundedPool({ Client: targetOf(() => url, 'session').Client, max: 1 });
      await expect(own.connect()).rejects.toThrow(refuses ? 'not allowed' : 'terminated unexpectedly');
      await new Promise((resolve) => server.close(resolve)); // waits for connections
      expect(own.totalCount).toBe(0);
    }
  });
});
