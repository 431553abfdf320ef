import { once } from 'node:events';
import { connect, createServer, isIPv4 } from 'node:net';
import type { Settings } from '../../config/settings/settings.js';

/** Returns a listener's error in words for the terminal; no database error, so the start does not wait. */
export function listenFailure(error: unknown, variable: string, port: number, host: string): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  let text = `The service cannot listen. Set HOST and ${variable} to an address of this machine: HOST=${host}, ${variable}=${port} (${message}).`;
  if (code === 'EADDRINUSE')
    text = `Port ${port} is taken by another program. Stop that program, or set ${variable} to another port.`;
  if (code === 'EACCES')
    text = `This user may not listen on port ${port}. Set ${variable} to a port from 1024 on.`;
  return new Error(text, { cause: error });
}

/** Listens for a moment, to find out whether a start could. @throws as the listener does */
export async function tryToListen(port: number, host: string): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  const listening = once(server, 'listening');
  server.listen(port, host);
  await listening;
  await new Promise((resolve) => server.close(resolve));
}

/** Whether another program has the port at ::1, to which browsers resolve `localhost` first. */
export async function isHiddenByIpv6({ production, publicUrl, host, port }: Settings): Promise<boolean> {
  return !production && isIPv4(host) && publicUrl === `http://localhost:${port}` && isTakenAtIpv6(port);
}

function isTakenAtIpv6(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '::1' });
    socket.once('connect', () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
