import { createServer } from 'node:net';

export interface Address {
  /** Directory of the Unix socket (absolute), or 127.0.0.1. */
  readonly host: string;
  /** TCP port; for a Unix socket, a part of its file name. */
  readonly port: number;
}

/** Parameters that `pg` would otherwise take from the environment (PGSSLMODE, PGOPTIONS, …), also if a value is empty. */
export const WITHOUT_ENVIRONMENT = {
  sslmode: 'disable',
  sslnegotiation: 'postgres',
  options: ' ',
  replication: 'false',
  client_encoding: 'UTF8',
} as const;

export const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 5432; // each server has its own directory

export function socketIn(directory: string): Address {
  return { host: directory, port: DEFAULT_PORT };
}

export const SOCKET_FILE = `.s.PGSQL.${DEFAULT_PORT}`;
export const SOCKET_LOCK_FILE = `${SOCKET_FILE}.lock`;

// Below the range of outgoing connections (Linux: from 32768 on), which could take the port before the server does.
const FIRST_PORT = 10_000;
const PORTS = 10_000;
const TRIES = 100;

/** Returns a free TCP port of 127.0.0.1; another program may take it before the server does. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error('no TCP port is free');
}

/** Whether no program listens on a port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, LOOPBACK, () => resolve(true));
  });
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}

/** Returns PostgreSQL's settings to listen at this address, and on sockets in further directories. */
export function listenOnly({ host, port }: Address, directories: readonly string[] = []): string[] {
  const isSocket = host.startsWith('/');
  const sockets = isSocket ? [host, ...directories] : directories;
  return [
    `port=${port}`,
    `listen_addresses=${isSocket ? '' : host}`,
    `unix_socket_directories=${sockets.map((directory) => `"${directory.replaceAll('"', '""')}"`).join(',')}`,
    'unix_socket_permissions=0600', // its directory is closed, too
  ];
}
