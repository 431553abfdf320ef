import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
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
  | {
      readonly do: 'connect';
      readonly protocol: keyof typeof PROTOCOLS;
      readonly port: number;
      readonly users: readonly User[];
      readonly each: number;
    }
  /** One event after the other goes to the next user; a push has so many. */
  | {
      readonly do: 'push';
      readonly port: number;
      readonly events: number;
      readonly milliseconds: number;
      /** Seconds; default 0. */
      readonly ttl?: number;
      /** Pushes a second; unset: as many as are answered. */
      readonly rate?: number;
    }
  | { readonly do: 'close' };

interface Protocol {
  readonly path: string;
  readonly greeting?: (token: string) => string;
  /** Returns the answer to a message, if it needs one; counts events. @throws at a refusal */
  readonly receive: (data: Buffer, token: string) => string | typeof READY | undefined;
  readonly push: (userId: string, data: object, ttl: number) => PushRequest;
  readonly pushBatch?: (userIds: readonly string[], data: object) => PushRequest;
}

interface PushRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

const READY = Symbol('ready');
const PROTOCOLS = {
  'socket.io': {
    path: '/socket.io/?EIO=4&transport=websocket',
    receive(data, token) {
      const packet = data.toString('latin1', 0, 10);
      if (packet.startsWith('44')) throw new Error(data.toString());
      if (packet.startsWith('0')) return `40${JSON.stringify({ token })}`;
      if (packet === '42["ready"') return READY;
      if (packet === '42["bench"') received++;
      return packet === '2' ? '3' : undefined;
    },
    push: (user_id, data, ttl) => ({
      path: '/push',
      headers: { Authorization: `Bearer ${SERVICE_KEY}` },
      body: { user_id, event: 'bench', data, ttl },
    }),
    pushBatch: (userIds, data) => ({
      path: '/push/batch',
      headers: { Authorization: `Bearer ${SERVICE_KEY}` },
      body: { events: userIds.map((user_id) => ({ user_id, event: 'bench', data, ttl: 0 })) },
    }),
  },
  centrifugo: {
    path: '/connection/websocket',
    greeting: (token) => JSON.stringify({ id: 1, connect: { token } }),
    receive(data) {
      const text = data.toString('latin1');
      if (text.startsWith('{"id":1,"connect"')) return READY;
      if (text === '{}') return text; // a ping
      if (!text.startsWith('{"push"')) throw new Error(text);
      received += text.split('\n').length; // one frame may hold several events, one a line
      return undefined;
    },
    push: (userId, data) => ({
      path: '/api/publish',
      headers: { 'X-API-Key': SERVICE_KEY },
      body: { channel: `#${userId}`, data: { event: 'bench', data } },
    }),
  },
} as const satisfies Readonly<Record<string, Protocol>>;

let protocol: Protocol;
let sockets: WebSocket[] = [];
let users: readonly User[] = [];
let received = 0;

/** Answers how many sockets were opened, or messages received, and in how many seconds. */
answerParent(async (order: SocketsOrder): Promise<SocketsResult> => {
  const start = performance.now();
  const count =
    order.do === 'connect' ? await open(order) : order.do === 'push' ? await pushAll(order) : await close();
  return { count, seconds: (performance.now() - start) / 1000 };
});

async function open(order: SocketsOrder & { do: 'connect' }): Promise<number> {
  users = order.users;
  protocol = PROTOCOLS[order.protocol];
  const waiting = users.flatMap(({ token }) => Array.from({ length: order.each }, () => token));
  let begun = 0;
  await inParallel(CONNECTING_AT_ONCE, async () => {
    for (let n = begun++; n < waiting.length; n = begun++)
      sockets.push(await connect(order.port, waiting[n]!));
  });
  return sockets.length;
}

/** Pushes to one user after the other, and waits until every socket has everything. */
async function pushAll(order: SocketsOrder & { do: 'push' }): Promise<number> {
  const { port, events, milliseconds, ttl = 0, rate = Infinity } = order;
  const start = performance.now();
  const end = start + milliseconds;
  const before = received;
  const agent = new Agent({ keepAlive: true, maxSockets: PUSHING_AT_ONCE });
  let pushed = 0;
  await inParallel(PUSHING_AT_ONCE, async () => {
    while (performance.now() < end) {
      const ids = Array.from({ length: events }, () => users[pushed++ % users.length]!.id);
      const early = start + (pushed * 1000) / events / rate - performance.now();
      if (early > 0) await delay(early);
      await push(agent, port, ids, ttl);
    }
  });
  agent.destroy();
  const expected = (pushed * sockets.length) / users.length;
  const isDone = (): boolean => received - before >= expected;
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve));
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

/** Resolves when the server has accepted the token. */
function connect(port: number, token: string): Promise<WebSocket> {
  const { path, greeting, receive } = protocol;
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    if (greeting) socket.on('open', () => socket.send(greeting(token)));
    socket.on('message', (data: Buffer) => {
      try {
        const answer = receive(data, token);
        if (answer === READY) resolve(socket);
        else if (answer !== undefined) socket.send(answer);
      } catch (error) {
        reject(error);
      }
    });
  });
}

function push(agent: Agent, port: number, userIds: readonly string[], ttl: number): Promise<void> {
  const data = { text: 'x'.repeat(100) };
  const call =
    userIds.length === 1 ? protocol.push(userIds[0]!, data, ttl) : protocol.pushBatch!(userIds, data);
  const body = JSON.stringify(call.body);
  const headers = {
    ...call.headers,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ port, path: call.path, method: 'POST', agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () =>
        answer.statusCode! < 300 && !text.includes('"error"')
          ? resolve()
          : reject(new Error(`a push answered ${answer.statusCode} ${text.slice(0, 200)}`)),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
