import { freePort } from './free-port.js';

/** Where a server listens, in the terms of `pg` and libpq. */
export interface Address {
  /** The directory of its Unix socket, an absolute path; or 127.0.0.1. */
  readonly host: string;
  /** The TCP port; for a Unix socket, only a part of its file's name. */
  readonly port: number;
}

/**
 * Parameters of a connection that `pg` would otherwise take from the environment (PGSSLMODE, PGOPTIONS, …). It takes an
 * empty value for none, hence the blank.
 */
export const WITHOUT_ENVIRONMENT = {
  sslmode: 'disable',
  sslnegotiation: 'postgres',
  options: ' ',
  replication: 'false',
  client_encoding: 'UTF8',
} as const;

export const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 5432; // each server has its own directory, so any number will do

export function socketIn(directory: string): Address {
  return { host: directory, port: DEFAULT_PORT };
}

/** The socket itself, and the file that locks it, in the directory of `socketIn`. */
export const SOCKET_FILE = `.s.PGSQL.${DEFAULT_PORT}`;
export const SOCKET_LOCK_FILE = `${SOCKET_FILE}.lock`;

/** A port that is free at this moment; somebody else may take it before the server does. */
export async function freeLoopback(): Promise<Address> {
  return { host: LOOPBACK, port: await freePort() };
}

/** PostgreSQL's settings that make it listen at `address`, and nowhere else. */
export function listenOnly({ host, port }: Address): string[] {
  const socket = host.startsWith('/');
  return [
    `port=${port}`,
    `listen_addresses=${socket ? '' : host}`,
    `unix_socket_directories=${socket ? `"${host.replaceAll('"', '""')}"` : ''}`,
    'unix_socket_permissions=0600', // its directory is already closed to others
  ];
}
