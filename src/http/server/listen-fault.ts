import { connect, createServer } from 'node:net';
import { withPort } from '../../config/urls/launch.js';

const PORTS_TRIED = 50;

/** The variables that name the address, and what they are. */
export interface Address {
  /** `PORT` or `METRICS_PORT`. */
  readonly variable: string;
  readonly port: number;
  readonly host: string;
}

/** One line for people: why nothing can listen there, and what to do. */
export async function listenFault(error: unknown, { variable, port, host }: Address): Promise<Error> {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const other = async (): Promise<string> => {
    const free = await freePort(port < 1024 ? 3000 : port + 1, host);
    if (free === undefined) return `Choose another ${variable}.`;
    return variable === 'PORT' ? `Try: ${withPort(free)}` : `Try: ${variable}=${free}`;
  };
  const line = async (): Promise<string> => {
    if (code === 'EADDRINUSE') return `Port ${port} is taken by another program. ${await other()}`;
    if (code === 'EACCES') return `This user may not listen on port ${port}. ${await other()}`;
    return `cannot listen on HOST=${host}, ${variable}=${port}: ${messageOf(error)}`;
  };
  return new Error(await line(), { cause: error });
}

/**
 * Whether something listens at [::1]: browsers and programs look there first for `localhost`, and never get to a service that
 * listens at 127.0.0.1 with the same port.
 */
export function isTakenAtIpv6(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '::1' });
    socket.once('connect', () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

/** The first port from `from` on that nothing listens on; undefined when none of the next ones is free. */
async function freePort(from: number, host: string): Promise<number | undefined> {
  for (let port = from; port < Math.min(from + PORTS_TRIED, 65_536); port++) {
    if ((await isFree(port, host)) && !(await isTakenAtIpv6(port))) return port;
  }
  return undefined;
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host }, () => server.close(() => resolve(true)));
  });
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : 'unknown';
}
