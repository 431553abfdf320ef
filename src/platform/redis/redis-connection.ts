import { randomUUID } from 'node:crypto';
import { on } from 'node:events';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';

const TEST_AGAIN_MS = 1000; // an operator may grant rights while the service runs
const RECEIVE_MS = 1000;

/** The two connections to Redis, which count as up after a self-test of both (docs/database.md#redis). */
export class RedisConnection implements OnApplicationShutdown {
  /** For subscriptions, which listeners of `onUp` renew. */
  readonly subscriber: Redis;
  private readonly logger = new Logger(RedisConnection.name);
  private readonly channel = `latchkey:self-test:${randomUUID()}`;
  private readonly listeners: (() => void)[] = [];
  private usable = false;
  /** Incremented if a connection opens or closes: the result of an earlier self-test is then ignored. */
  private epoch = 0;
  private nextTest?: NodeJS.Timeout;
  /** Why Redis is not usable, as it was logged. */
  problem: string | undefined;

  /** @param client for commands; they fail at once while Redis is unreachable */
  constructor(readonly client: Redis) {
    this.subscriber = client.duplicate({
      connectionName: 'latchkey-hints',
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
    });
    for (const connection of [client, this.subscriber]) {
      connection.on('error', (error) => this.onError(error));
      connection.on('ready', () => void this.test());
      connection.on('close', () => this.forget());
    }
  }

  /** Whether both connections passed the self-test and are still open. */
  get isUsable(): boolean {
    return this.usable && isReady(this.client) && isReady(this.subscriber);
  }

  async isUp(): Promise<boolean> {
    if (!this.isUsable) return false;
    return this.client.ping().then(
      () => true,
      () => false,
    );
  }

  /** @param listener called each time the connections have become usable; at least one of them is new then */
  onUp(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Repeats the self-test after a failed command: an operator may have withdrawn rights. */
  onFailure(): void {
    if (this.usable) void this.test();
  }

  /** Replaces the subscriber's connection, with all subscriptions; unusable ones are replaced anyway. */
  renewSubscriber(): void {
    if (this.isUsable) reconnect(this.subscriber);
  }

  onApplicationShutdown(): void {
    this.forget();
    this.client.disconnect();
    this.subscriber.disconnect();
  }

  private async test(): Promise<void> {
    clearTimeout(this.nextTest);
    if (!isReady(this.client) || !isReady(this.subscriber)) return;
    const epoch = ++this.epoch;
    try {
      await selfTest(this, this.channel);
      if (epoch === this.epoch) this.onUsable();
    } catch (error) {
      if (epoch === this.epoch) this.onUnusable(error);
    }
  }

  private onUsable(): void {
    this.usable = true;
    if (this.problem !== undefined) this.logger.log('Redis is back');
    this.problem = undefined;
    for (const listener of this.listeners) listener();
  }

  private onUnusable(error: unknown): void {
    this.usable = false;
    const reason = error instanceof Error ? error.message : 'unknown';
    if (this.problem !== reason) {
      this.logger.warn(`Redis cannot be used and counts as away (rights: docs/production.md): ${reason}`);
    }
    this.problem = reason;
    this.nextTest = setTimeout(() => {
      if (error instanceof Unusable && error.elsewhere) [this.client, this.subscriber].forEach(reconnect);
      else void this.test();
    }, TEST_AGAIN_MS).unref();
  }

  /** Each attempt to reconnect causes an error: only the first one is logged. */
  private onError(error: Error): void {
    if (this.problem !== undefined) return;
    this.logger.warn({ err: error, msg: 'Redis is away' });
    this.problem = error.message;
  }

  private forget(): void {
    this.epoch++;
    this.usable = false;
    clearTimeout(this.nextTest);
  }
}

function isReady({ status }: Redis): boolean {
  return status === 'ready';
}

/** Does nothing while it connects: ioredis would give up if it is disconnected while it queries Sentinels. */
function reconnect(connection: Redis): void {
  if (isReady(connection)) connection.disconnect(true);
}

/** Redis answers, but is unusable. The message is for the log, without secrets. */
class Unusable extends Error {
  /** @param elsewhere whether a new connection may lead to a usable Redis */
  constructor(
    message: string,
    readonly elsewhere = false,
  ) {
    super(message);
  }
}

type Connections = Pick<RedisConnection, 'client' | 'subscriber'>;

/** In Redis 7 a new user may connect, but use no channel. @throws Unusable, or the connection's error */
async function selfTest({ client, subscriber }: Connections, channel: string): Promise<void> {
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
