import { nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import { cpuTime } from './cpu-time.js';
import { startLatchkey } from './latchkey-target.js';
import type { User } from './load/sockets.js';
import { residentMemory } from './resident-memory.js';
import { SERVICE_KEY } from './service-key.js';
import { signInUsers, SocketClients } from './socket-clients.js';

/** The most that a user may have. */
export const SOCKETS_A_USER = 20;
const WARM_UP_USERS = 10;

export interface SocketsBench {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly logLevel: string;
  /** Open at once. */
  readonly sockets: number;
  readonly rounds: number;
  /** For which a turn pushes. */
  readonly seconds: number;
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

export async function measureSockets(bench: SocketsBench, cleanup: Cleanup): Promise<SocketTurns[]> {
  const clients = new SocketClients(cleanup);
  const targets = await startTargets(bench, cleanup);
  const turns = new Map<SocketTarget, SocketTurn[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < bench.rounds; round++) {
    for (const target of round % 2 ? targets.toReversed() : targets) {
      // The memory is measured in the first turn, so the warm-up before it uses only a few sockets.
      const few = { ...target, users: target.users.slice(0, WARM_UP_USERS) };
      if (round === 0) await turn(clients, few, bench.seconds);
      turns.get(target)!.push(await turn(clients, target, bench.seconds));
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
      const users = await signInUsers(port, Math.ceil(sockets / SOCKETS_A_USER));
      return { name, pid, port, users };
    }),
  );
}

async function turn(
  clients: SocketClients,
  { pid, port, users }: SocketTarget,
  seconds: number,
): Promise<SocketTurn> {
  const now = () => ({ memory: residentMemory(pid), cpu: cpuTime(pid) ?? NaN });
  const before = now();
  const opened = await clients.ask({ do: 'connect', port, users, each: SOCKETS_A_USER });
  const between = now();
  const milliseconds = seconds * 1000;
  const pushed = await clients.ask({ do: 'push', milliseconds, serviceKey: SERVICE_KEY, ttl: 0 });
  const after = now();
  await clients.ask({ do: 'close' });
  return {
    connectsPerSecond: opened.count / opened.seconds,
    messagesPerSecond: pushed.count / pushed.seconds,
    memory: (between.memory - before.memory) / opened.count,
    connectCpu: (between.cpu - before.cpu) / opened.count,
    messageCpu: (after.cpu - between.cpu) / pushed.count,
  };
}
