import { connect } from 'node:net';

/**
 * One line for people: why the service cannot listen, and what to do.
 * @param variable `PORT` or `METRICS_PORT`
 */
export function listenFault(error: unknown, variable: string, port: number, host: string): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  const line =
    code === 'EADDRINUSE'
      ? `Port ${port} is taken by another program. Stop that program, or set ${variable} to another port.`
      : code === 'EACCES'
        ? `This user may not listen on port ${port}. Set ${variable} to a port from 1024 on.`
        : `cannot listen on HOST=${host}, ${variable}=${port}: ${message}`;
  return new Error(line, { cause: error });
}

/** Whether a program listens at [::1]: browsers open `localhost` there first, and would not reach 127.0.0.1. */
export function isTakenAtIpv6(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '::1' });
    socket.once('connect', () => socket.end(() => resolve(true)));
    socket.once('error', () => resolve(false));
  });
}
