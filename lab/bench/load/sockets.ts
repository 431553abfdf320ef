import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { WebSocket } from 'ws';
import { SERVICE_KEY } from '../names.js';
import { answerParent } from '../parent.js';
import type { LoadResult } from './run.js';

export type SocketsResult = Pick<LoadResult, 'count' | 'seconds'>;

const CONNECTING_AT_ONCE = 64;
const PUSHING_AT_ONCE = 8;

export interface User {
  readonly id: string;
  readonly token: string;
}

export type SocketsOrder =
  | { readonly do: 'connect'; readonly port: number; readonly users: readonly User[]; readonly each: number }
  | { readonly do: 'push'; readonly milliseconds: number }
  | { readonly do: 'close' };

let sockets: WebSocket[] = [];
let users: readonly User[] = [];
let port = 0;
let received = 0;

/** Answers how many sockets were opened, or messages received, and in how many seconds. */
answerParent(async (order: SocketsOrder): Promise<SocketsResult> => {
  const start = performance.now();
  const count =
    order.do === 'connect' ? await open(order) : order.do === 'push' ? await pushAll(order) : await close();
  return { count, seconds: (performance.now() - start) / 1000 };
});

async function open(order: SocketsOrder & { do: 'connect' }): Promise<number> {
  ({ port, users } = order);
  const waiting = users.flatMap(({ token }) => Array.from({ length: order.each }, () => token));
  await inParallel(CONNECTING_AT_ONCE, async () => {
    for (let token = waiting.pop(); token !== undefined; token = waiting.pop()) {
      sockets.push(await connect(token));
    }
  });
  return sockets.length;
}

/** Pushes to one user after the other, and waits until every socket has everything. */
async function pushAll({ milliseconds }: SocketsOrder & { do: 'push' }): Promise<number> {
  const end = performance.now() + milliseconds;
  const before = received;
  const agent = new Agent({ keepAlive: true, maxSockets: PUSHING_AT_ONCE });
  let pushed = 0;
  await inParallel(PUSHING_AT_ONCE, async () => {
    while (performance.now() < end) {
      await push(agent, users[pushed++ % users.length]!.id);
    }
  });
  agent.destroy();
  const expected = (pushed * sockets.length) / users.length;
  await until(() => received - before >= expected);
  return expected;
}

async function close(): Promise<number> {
  const closed = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.close();
  await Promise.all(closed);
  sockets = [];
  return closed.length;
}

async function inParallel(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when the server has said `ready`. */
function connect(token: string): Promise<WebSocket> {
  const address = `ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`;
  const socket = new WebSocket(address, { perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const packet = data.toString('latin1', 0, 10);
      if (packet === '42["bench"') received++;
      else if (packet.startsWith('0')) socket.send(`40${JSON.stringify({ token })}`);
      else if (packet === '2') socket.send('3');
      else if (packet === '42["ready"') resolve(socket);
      else if (packet.startsWith('44')) reject(new Error(data.toString()));
    });
  });
}

function push(agent: Agent, user_id: string): Promise<void> {
  const body = JSON.stringify({ user_id, event: 'bench', data: { text: 'x'.repeat(100) }, ttl: 0 });
  const headers = {
    Authorization: `Bearer ${SERVICE_KEY}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const call = request({ port, path: '/push', method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () =>
        answer.statusCode! < 300 ? resolve() : reject(new Error(`a push answered ${answer.statusCode}`)),
      );
    });
    call.on('error', reject);
    call.end(body);
  });
}
