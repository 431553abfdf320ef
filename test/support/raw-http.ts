import { once } from 'node:events';
import { connect } from 'node:net';

const PATIENCE_MS = 2000;

/**
 * Sends bytes on a connection of their own, and ends it.
 * @param patienceMs after which no more is waited for
 * @returns all that was answered, as latin1
 */
export async function exchange(url: string, bytes: Buffer, patienceMs = PATIENCE_MS): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let answered = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => (answered += chunk.toString('latin1')));
  socket.on('end', () => socket.destroy());
  socket.end(bytes);
  const late = setTimeout(() => socket.destroy(), patienceMs);
  if (!socket.destroyed) await once(socket, 'close');
  clearTimeout(late);
  return answered;
}

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Takes answers apart by their own lengths. @throws where they are not HTTP, whole ones, and nothing beside */
export function answersIn(answered: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = answered; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end);
    const [, status] =
      /^HTTP\/1\.1 (\d{3}) [ -~]*\r\n(?:[A-Za-z0-9-]+: [ -~]*(?:\r\n|$))*$/.exec(`${head}\r\n`) ?? [];
    if (end < 0 || status === undefined)
      throw new Error(`no answer of HTTP: ${JSON.stringify(rest.slice(0, 300))}`);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(status), head, body });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}
