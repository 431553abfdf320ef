import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import { cpuTime } from './cpu-time.js';
import { startLatchkey } from './latchkey-target.js';
import type { SocketsAnswer, SocketsRequest, User } from './load/sockets.js';
import { SERVICE_KEY } from './service-key.js';
import { codeOf, deviceIdOf, PROVIDER, REDIRECT_URI } from './sign-in-users.js';

/** The most that a user may have. */
export const SOCKETS_A_USER = 20;
const PUSH_MS = 2000;
const WARM_UP_USERS = 10;

export interface SocketsBench {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly logLevel: string;
  /** Open at once. */
  readonly sockets: number;
  readonly rounds: number;
}

export interface SocketTurn {
  readonly connectsPerSecond: number;
  readonly messagesPerSecond: number;
  /** KiB per connection; NaN except on Linux. */
  readonly memory: number;
  /** CPU µs of the target, per connection and per message. */
  readonly connectCpu: number;
  readonly messageCpu: number;
}

/** The turns of one target, in the order of the rounds. */
export interface SocketTurns {
  readonly target: string;
  readonly turns: readonly SocketTurn[];
}

interface SocketTarget {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly users: readonly User[];
}

/**
 * W4: opens sockets, then pushes to their users over HTTP. Targets are processes of their own that have done nothing else,
 * so that the memory of a connection can be measured. Only their first turn counts for that: later, the heap is large already.
 */
export async function measureSockets(bench: SocketsBench, cleanup: Cleanup): Promise<SocketTurns[]> {
  const generator = startChild('./load/sockets.js', cleanup);
  const targets = await startTargets(bench, cleanup);
  const turns = new Map<SocketTarget, SocketTurn[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < bench.rounds; round++) {
    for (const target of round % 2 ? targets.toReversed() : targets) {
      // The memory is measured in the first turn, so the warm-up before it uses only a few sockets.
      if (round === 0) await turn(generator, { ...target, users: target.users.slice(0, WARM_UP_USERS) });
      turns.get(target)!.push(await turn(generator, target));
    }
  }
  return [...turns].map(([{ name }, all]) => ({ target: name, turns: all }));
}

async function startTargets(bench: SocketsBench, cleanup: Cleanup): Promise<SocketTarget[]> {
  const { databaseUrl, providerUrl, logLevel, sockets } = bench;
  const bare = startChild('./floors/socket-io.js', cleanup);
  bare.send({ databaseUrl, providerUrl });
  const processes = [
    { name: 'socket.io', pid: bare.pid!, port: await nextMessage<number>(bare) },
    await startLatchkey(databaseUrl, providerUrl, logLevel, cleanup),
  ];
  return Promise.all(
    processes.map(async ({ name, pid, port }) => {
      const users: User[] = [];
      while (users.length * SOCKETS_A_USER < sockets) users.push(await signIn(port, users.length));
      return { name, pid, port, users };
    }),
  );
}

async function turn(generator: ChildProcess, { pid, port, users }: SocketTarget): Promise<SocketTurn> {
  const now = () => ({ memory: memory(pid), cpu: cpuTime(pid) ?? NaN });
  const before = now();
  const opened = await ask(generator, { do: 'connect', port, users, each: SOCKETS_A_USER });
  const between = now();
  const pushed = await ask(generator, { do: 'push', milliseconds: PUSH_MS, serviceKey: SERVICE_KEY });
  const after = now();
  await ask(generator, { do: 'close' });
  return {
    connectsPerSecond: opened.count / opened.seconds,
    messagesPerSecond: pushed.count / pushed.seconds,
    memory: (between.memory - before.memory) / opened.count,
    connectCpu: (between.cpu - before.cpu) / opened.count,
    messageCpu: (after.cpu - between.cpu) / pushed.count,
  };
}

async function ask(generator: ChildProcess, order: SocketsRequest) {
  generator.send(order);
  const answer = await nextMessage<SocketsAnswer>(generator);
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}

async function signIn(port: number, n: number): Promise<User> {
  const base = `http://127.0.0.1:${port}/oauth2`;
  const query = new URLSearchParams({ provider: PROVIDER, redirect_uri: REDIRECT_URI }).toString();
  const { state } = (await (await fetch(`${base}/authorize?${query}`)).json()) as { state: string };
  const response = await fetch(`${base}/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code: codeOf(n), state, device_id: deviceIdOf(n) }),
  });
  const { user_id, access_token } = (await response.json()) as { user_id: string; access_token: string };
  return { id: user_id, token: access_token };
}

/** Resident memory in KiB. */
function memory(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  } catch {
    return NaN;
  }
}
