import { randomUUID } from 'node:crypto';
import { on } from 'node:events';
import type { Redis } from 'ioredis';

const RECEIVE_MS = 1000;

/** Redis answers, but is unusable. The message is for the log, without secrets. */
export class Unusable extends Error {
  /** @param elsewhere whether a new connection may lead to a usable Redis */
  constructor(
    message: string,
    readonly elsewhere = false,
  ) {
    super(message);
  }
}

interface Connections {
  readonly client: Redis;
  readonly subscriber: Redis;
}

/** Tests new connections: in Redis 7 a new user may connect, but not use any channel. @throws Unusable, or the error of the connection */
export async function selfTest({ client, subscriber }: Connections, channel: string): Promise<void> {
  await requireMaster(client);
  await subscriber.subscribe(channel);
  await receive({ client, subscriber }, channel);
  await subscriber.unsubscribe(channel);
}

/** Sentinels and replicas deliver to their own subscribers only, so other instances would miss messages. */
async function requireMaster(client: Redis): Promise<void> {
  const info = await client.info().catch(() => ''); // the user may lack the right
  if (/^redis_mode:sentinel/m.test(info)) {
    throw new Unusable(
      `${address(client)} is a Sentinel, not a Redis: use redis+sentinel://${address(client)}/<name of the master>`,
    );
  }
  if (/^loading:1/m.test(info)) throw new Unusable(`${address(client)} is still loading its data`);
  if (/^redis_mode:cluster/m.test(info)) return; // a node of a cluster delivers to all nodes
  if (/^role:slave/m.test(info)) throw new Unusable(`${address(client)} is a replica, not the master`, true);
}

async function receive({ client, subscriber }: Connections, channel: string): Promise<void> {
  const sent = randomUUID(); // distinguishes a late message of an earlier test
  const signal = AbortSignal.timeout(RECEIVE_MS);
  const messages = on(subscriber, 'message', { signal });
  try {
    await client.publish(channel, sent);
    for await (const [, message] of messages) if (message === sent) return;
  } catch (error) {
    throw signal.aborted ? new Unusable('a published message does not arrive', true) : error;
  }
}

function address({ options: { host, port } }: Redis): string {
  return `${host?.includes(':') ? `[${host}]` : host}:${port}`;
}
