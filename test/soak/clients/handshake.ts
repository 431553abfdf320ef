import { io } from 'socket.io-client';

/** A handshake that is not to succeed. @returns `connected`, why it was refused, or the status of an answer over HTTP */
export async function refusedHandshake(url: string, token: string, from: string): Promise<string> {
  const socket = io(url, {
    auth: { token },
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
    extraHeaders: { 'X-Forwarded-For': from },
  });
  const outcome = await new Promise<string>((resolve) => {
    socket.once('connect_error', (error) => resolve(reasonOf(error)));
    socket.once('connect', () => resolve('connected'));
  });
  socket.close();
  return outcome;
}

/** Before there is a transport, the status is in the words of the package `ws` only. */
function reasonOf(error: Error & { data?: { error: string }; description?: unknown }): string {
  if (error.data) return error.data.error;
  const { message = error.message } = (error.description ?? {}) as { message?: string };
  return /^Unexpected server response: (\d{3})$/.exec(message)?.[1] ?? message;
}
