import { randomUUID } from 'node:crypto';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { selfTest, Unusable } from './self-test.js';

/** The subscriber sends nothing else, so only a ping reveals a dead connection. */
const PING_EVERY_MS = 1000;
/** An operator may grant rights while the service runs. */
const TEST_AGAIN_MS = 1000;

/** The service's two connections to Redis. They count as up after a self-test of both (contract §2, `REDIS_URL`). */
export class RedisConnection implements OnApplicationShutdown {
  /** For subscriptions, which listeners of `onUp` renew. */
  readonly subscriber: Redis;
  private readonly logger = new Logger(RedisConnection.name);
  private readonly channel = `latchkey:self-test:${randomUUID()}`;
  private readonly pings: NodeJS.Timeout;
  private readonly listeners: (() => void)[] = [];
  private usable = false;
  /** Incremented if a connection opens or closes: the result of an earlier self-test is then ignored. */
  private epoch = 0;
  private nextTest?: NodeJS.Timeout;
  /** Last warning that was logged, until Redis is usable again. */
  private warned: string | undefined;

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
    this.pings = setInterval(() => void this.subscriber.ping().catch(() => undefined), PING_EVERY_MS).unref();
  }

  /** Whether both connections passed the self-test and are still open. */
  get isUsable(): boolean {
    return this.usable && isReady(this.client) && isReady(this.subscriber);
  }

  /** Why Redis is not usable, if that is known. */
  get problem(): string | undefined {
    return this.warned;
  }

  /** Pings Redis. */
  async isUp(): Promise<boolean> {
    if (!this.isUsable) return false;
    try {
      await this.client.ping();
      return true;
    } catch {
      return false;
    }
  }

  /** @param listener called each time the connections have become usable; at least one of them is new then */
  onUp(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Repeats the self-test after a failed command: an operator may have withdrawn rights. */
  onFailure(): void {
    if (this.usable) void this.test();
  }

  /** Replaces the subscriber's connection, which drops all subscriptions. If Redis is not usable, it is replaced anyway. */
  renewSubscriber(): void {
    if (this.isUsable) reconnect(this.subscriber);
  }

  onApplicationShutdown(): void {
    this.forget();
    clearInterval(this.pings);
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
    if (this.warned !== undefined) this.logger.log('Redis is back');
    this.warned = undefined;
    for (const listener of this.listeners) listener();
  }

  private onUnusable(error: unknown): void {
    this.usable = false;
    const reason = error instanceof Error ? error.message : 'unknown';
    if (this.warned !== reason) {
      this.logger.warn(`Redis cannot be used and counts as away (rights: docs/production.md): ${reason}`);
    }
    this.warned = reason;
    this.nextTest = setTimeout(() => {
      if (error instanceof Unusable && error.elsewhere) this.reconnect();
      else void this.test();
    }, TEST_AGAIN_MS).unref();
  }

  /** Each attempt to reconnect causes an error: only the first one is logged. */
  private onError(error: Error): void {
    if (this.warned !== undefined) return;
    this.logger.warn({ err: error, msg: 'Redis is away' });
    this.warned = error.message;
  }

  private forget(): void {
    this.epoch++;
    this.usable = false;
    clearTimeout(this.nextTest);
  }

  private reconnect(): void {
    for (const connection of [this.client, this.subscriber]) reconnect(connection);
  }
}

function isReady({ status }: Redis): boolean {
  return status === 'ready';
}

/** Does nothing while it connects: ioredis would give up if it is disconnected while it queries Sentinels. */
function reconnect(connection: Redis): void {
  if (isReady(connection)) connection.disconnect(true);
}
