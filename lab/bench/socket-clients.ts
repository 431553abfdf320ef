import type { ChildProcess } from 'node:child_process';
import { nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import type { SocketsRequest, SocketsAnswer, User } from './load/sockets.js';
import type { LoadResult } from './load/run.js';
import { codeOf, deviceIdOf, PROVIDER, REDIRECT_URI } from './sign-in-users.js';

const SIGNING_IN_AT_ONCE = 16;

/** The process that opens sockets and pushes to them (load/sockets.ts), seen from here. */
export class SocketClients {
  private readonly child: ChildProcess;

  constructor(cleanup: Cleanup) {
    this.child = startChild('./load/sockets.js', cleanup);
  }

  /** @throws what went wrong */
  async ask(order: SocketsRequest): Promise<LoadResult> {
    this.child.send(order);
    const answer = await nextMessage<SocketsAnswer>(this.child);
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }
}

/** Signs in the first users of the stub provider, each on a device. */
export async function signInUsers(port: number, count: number): Promise<User[]> {
  const users: User[] = [];
  let next = 0;
  const signInSome = async (): Promise<void> => {
    while (next < count) {
      const n = next++;
      users[n] = await signIn(port, n);
    }
  };
  await Promise.all(Array.from({ length: SIGNING_IN_AT_ONCE }, signInSome));
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
  const { user_id, access_token } = (await response.json()) as { user_id: string; access_token: string };
  return { id: user_id, token: access_token };
}
