import type { ChildProcess } from 'node:child_process';
import { ask, nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import { cpuTime, residentMemory } from './cpu-time.js';
import { startLatchkey } from './latchkey-target.js';
import type { SocketsOrder, SocketsResult, User } from './load/sockets.js';
import { codeOf, deviceIdOf, PROVIDER, REDIRECT_URI } from './names.js';
import type { Options } from './options.js';
import { startCentrifugo } from './peers/centrifugo.js';
import { saveResults } from './peers/results.js';
import { printSockets, socketSpeedsOf } from './report.js';
import { interleave, type Measured, type SocketTurn } from './turn.js';

/** The most that a user may have. */
const SOCKETS_A_USER = 20;
const WARM_UP_USERS = 10;
/** Events of a push. */
const EVENTS = { W4: 1, W4B: 100 } as const;

interface SocketTarget extends Measured {
  readonly protocol: (SocketsOrder & { do: 'connect' })['protocol'];
  readonly users: readonly User[];
}

/** W4 or W4B, beside bare Socket.IO, and beside Centrifugo with `--peers`. */
export async function compareSockets(
  { peers, sockets, rounds, seconds }: Options,
  workload: keyof typeof EVENTS,
  databaseUrl: string,
  providerUrl: string,
  cleanup: Cleanup,
): Promise<void> {
  const clients = startChild('./load/sockets.js', cleanup);
  const bare = startChild('./floors/socket-io.js', cleanup);
  bare.send({ databaseUrl, providerUrl });
  const userCount = Math.ceil(sockets / SOCKETS_A_USER);
  const targets: SocketTarget[] = [];
  for (const target of [
    { name: 'socket.io', pid: bare.pid!, port: await nextMessage<number>(bare) },
    await startLatchkey(databaseUrl, providerUrl, cleanup),
  ])
    targets.push({ ...target, protocol: 'socket.io', users: await signInUsers(target.port, userCount) });
  const centrifugo = peers ? await startCentrifugo(userCount, cleanup) : undefined;
  if (centrifugo) targets.push({ ...centrifugo, protocol: 'centrifugo' });
  else if (peers) console.log('\nCentrifugo is left out: it is compiled with Go, which is missing.');
  const turns = await interleave(targets, rounds, async (target, round) => {
    // The memory is measured in the first turn, so the warm-up before it uses only a few sockets.
    const few = { ...target, users: target.users.slice(0, WARM_UP_USERS) };
    const events = EVENTS[workload];
    if (round === 0) await turn(clients, few, events, seconds);
    return turn(clients, target, events, seconds);
  });
  printSockets(`${workload} ${sockets} sockets, ${SOCKETS_A_USER} a user`, turns);
  if (peers) saveResults([...socketSpeedsOf(sockets, turns), ...(centrifugo ? [centrifugo.footprint] : [])]);
}

async function turn(
  clients: ChildProcess,
  { pid, port, protocol, users }: SocketTarget,
  events: number,
  seconds: number,
): Promise<SocketTurn> {
  const clientsDo = (order: SocketsOrder) => ask<SocketsResult>(clients, order);
  const now = () => ({ memory: residentMemory(pid), cpu: cpuTime(pid) });
  const before = now();
  const opened = await clientsDo({ do: 'connect', protocol, port, users, each: SOCKETS_A_USER });
  const between = now();
  const pushed = await clientsDo({ do: 'push', port, events, milliseconds: seconds * 1000 });
  const after = now();
  await clientsDo({ do: 'close' });
  return {
    connectsPerSecond: opened.count / opened.seconds,
    messagesPerSecond: pushed.count / pushed.seconds,
    memory: (between.memory - before.memory) / opened.count,
    connectCpu: (between.cpu - before.cpu) / opened.count,
    messageCpu: (after.cpu - between.cpu) / pushed.count,
  };
}

/** The first users of the stub provider, each on a device; one after the other, which a busy machine answers in time. */
export async function signInUsers(port: number, count: number): Promise<User[]> {
  const users: User[] = [];
  for (let n = 0; n < count; n++) users.push(await signIn(port, n));
  return users;
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
  if (!response.ok) throw new Error(`a sign-in was answered ${response.status} ${await response.text()}`);
  const { user_id, access_token } = (await response.json()) as { user_id: string; access_token: string };
  return { id: user_id, token: access_token };
}
