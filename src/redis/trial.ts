import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

const KEYS = '~latchkey:*';
const CHANNELS = '&latchkey:*';
const COMMANDS =
  '+ping +info +select +client|setname +publish +subscribe +unsubscribe +eval +evalsha +set +incrby +pttl +expire';
/** All that a user of Redis needs for the service (docs/production.md). */
export const RIGHTS = `${KEYS} ${CHANNELS} ${COMMANDS}`;

const COUNTER = 'latchkey:limit:trial';
/** What counting does (RateLimiterRedis has such a script), so it needs the same rights. */
const COUNT = `
  redis.call('set', KEYS[1], 0, 'EX', 1, 'NX')
  redis.call('incrby', KEYS[1], 1)
  redis.call('expire', KEYS[1], 1)
  return redis.call('pttl', KEYS[1])`;
const HEARD_WITHIN_MS = 1000;
// https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/; in scripts, as Redis 7.0 and 7.2 say it
const NO_RIGHT = /^NOPERM|user executing the script can't run|ACL failure in script/;

/** Redis is there, but not of use as it is. The message is for the log: it says what to do, and holds no secret. */
export class Unusable extends Error {
  /** @param elsewhere whether a new connection may lead to a Redis that is of use */
  constructor(
    message: string,
    readonly elsewhere = false,
  ) {
    super(message);
  }
}

export interface Connections {
  /** For commands. */
  readonly client: Redis;
  /** For what is published. */
  readonly subscriber: Redis;
}

/**
 * Does on new connections what the service will do: Redis 7 lets a new user connect, and do nothing with any channel.
 * @param channel of this instance alone
 * @param counts whether requests will be counted
 * @throws Unusable, or what a connection fails with
 */
export async function tryOut(
  { client, subscriber }: Connections,
  channel: string,
  counts: boolean,
): Promise<void> {
  await assertReadyMaster(client);
  try {
    await subscriber.ping();
    await subscriber.subscribe(channel);
    await assertHeard({ client, subscriber }, channel);
    await subscriber.unsubscribe(channel);
    if (counts) await count(client);
  } catch (error) {
    throw asRefusal(error, client) ?? error;
  }
}

/** @returns what to tell of an answer that says that the user has not the right; undefined for any other error */
export function asRefusal(error: unknown, { options }: Redis): Unusable | undefined {
  const message = error instanceof Error ? error.message : '';
  if (!NO_RIGHT.test(message)) return undefined;
  const grant = `ACL SETUSER ${options.username || 'default'} ${lacking(message)}`;
  return new Unusable(`this user of Redis lacks rights (${message}); grant them with: ${grant}`);
}

/** Redis judges the command first. Who has all keys, or all channels, cannot be given some: no more than is lacking. */
function lacking(message: string): string {
  if (/\bchannels?\b/.test(message)) return `${CHANNELS} ${COMMANDS}`;
  if (/\bkeys?\b/.test(message)) return `${KEYS} ${COMMANDS}`;
  return RIGHTS;
}

/** A Sentinel subscribes, too, and a replica publishes to its own subscribers: neither reaches the other instances. */
async function assertReadyMaster(client: Redis): Promise<void> {
  const info = await client.info().catch(() => ''); // without the right to ask: what follows is the answer
  if (/^redis_mode:sentinel/m.test(info)) {
    throw new Unusable(
      `${address(client)} is a Sentinel, not a Redis: use redis+sentinel://${address(client)}/<name of the master>`,
    );
  }
  if (/^loading:1/m.test(info)) throw new Unusable(`${address(client)} is still loading its data`);
  if (/^redis_mode:cluster/m.test(info)) return; // there every node hands on what is published
  if (/^role:slave/m.test(info)) throw new Unusable(`${address(client)} is a replica, not the master`, true);
}

async function assertHeard({ client, subscriber }: Connections, channel: string): Promise<void> {
  const said = randomUUID(); // what comes late of an earlier trial proves nothing
  let hear: (heard: boolean) => void;
  const heard = new Promise<boolean>((resolve) => (hear = resolve));
  const listener = (from: string, message: string): void => {
    if (from === channel && message === said) hear(true);
  };
  const timer = setTimeout(() => hear(false), HEARD_WITHIN_MS);
  subscriber.on('message', listener);
  try {
    await client.publish(channel, said);
    if (!(await heard)) throw new Unusable('what is published does not arrive', true);
  } finally {
    clearTimeout(timer);
    subscriber.off('message', listener);
  }
}

/** A Redis that is full, or a node of a cluster that has not this key, refuses as well: limits say so when it matters. */
async function count(client: Redis): Promise<void> {
  try {
    await client.eval(COUNT, 1, COUNTER);
    await client.evalsha(createHash('sha1').update(COUNT).digest('hex'), 1, COUNTER);
  } catch (error) {
    if (asRefusal(error, client)) throw error;
  }
}

function address({ options: { host, port } }: Redis): string {
  return `${host?.includes(':') ? `[${host}]` : host}:${port}`;
}
