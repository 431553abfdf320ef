import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Peer, PeerWorkload } from './peer.js';

const JWT = /"(?:access_)?token":"ey[\w-]+\.[\w-]+\.[\w-]+"/;
/** What an answer must say: a signed token, or who it is. */
const RIGHT: Partial<Record<PeerWorkload, RegExp>> = {
  refresh: JWT,
  bearer: /"(?:user_id|userId|sub)":"[^"]+"/,
};

/**
 * Checks that a peer answers rightly: a fresh token is a JWT, and whose token it is comes with a name. The load generator looks at each
 * whole sign-in.
 * @throws Error that says what is wrong.
 */
export async function checkPeer({ name, port, scripts }: Peer): Promise<void> {
  for (const workload of ['refresh', 'bearer'] as const) {
    const script = scripts[workload];
    if (!script || !('requests' in script)) throw new Error(`${name}: ${workload} is missing`);
    const answer = await ask(port, script.requests[0]!);
    if (!answer.startsWith('HTTP/1.1 200 ') || !RIGHT[workload]!.test(answer)) {
      throw new Error(`${name}: ${workload} is not answered rightly: ${answer.split('\r\n')[0]}`);
    }
  }
}

/** The whole answer to a request as it is sent. */
async function ask(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(request.replace('Host: localhost\r\n', 'Host: localhost\r\nConnection: close\r\n'));
  return text(socket);
}
