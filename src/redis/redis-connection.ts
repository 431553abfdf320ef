import { randomUUID } from 'node:crypto';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { asRefusal, tryOut, Unusable } from './trial.js';

/** A connection that only listens would not notice that it is dead, so it pings. */
const PING_EVERY_MS = 1000;
/** Rights can be mended while the service runs. */
const TRY_AGAIN_MS = 1000;

/**
 * The service's two connections to Redis, which may come and go. They count as up once they have been tried together
 * (contract §2, REDIS_URL): each new one is, before anything relies on it.
 */
export class RedisConnection implements OnApplicationShutdown {
  /** For subscriptions, which their owner makes again at each `onUp`. */
  readonly subscriber: Redis;
  private readonly logger = new Logger(RedisConnection.name);
  private readonly channel = `latchkey:trial:${randomUUID()}`;
  private readonly pings: NodeJS.Timeout;
  private readonly listeners: (() => void)[] = [];
  private usable = false;
  /** Raised when a connection comes or goes: what a trial finds after that is about the past. */
  private epoch = 0;
  private nextTrial?: NodeJS.Timeout;
  /** What was last said to be wrong, until it is right again. */
  private told: string | undefined;

  /**
   * @param client for commands; fails at once while Redis is away: callers go on without it meanwhile
   * @param counts whether requests are counted in this Redis
   */
  constructor(
    readonly client: Redis,
    private readonly counts: boolean,
  ) {
    this.subscriber = client.duplicate({
      connectionName: 'latchkey-hints',
      autoResubscribe: false,
      autoResendUnfulfilledCommands: false,
    });
    for (const connection of [client, this.subscriber]) {
      connection.on('error', (error) => this.onError(error));
      connection.on('ready', () => void this.try());
      connection.on('close', () => this.forget());
    }
    this.pings = setInterval(() => void this.subscriber.ping().catch(() => undefined), PING_EVERY_MS).unref();
  }

  /** Whether both connections have been tried and are still there. */
  get isUsable(): boolean {
    return this.usable && isReady(this.client) && isReady(this.subscriber);
  }

  /** Whether Redis is usable, and answers now. */
  async isUp(): Promise<boolean> {
    if (!this.isUsable) return false;
    try {
      await this.client.ping();
      return true;
    } catch {
      return false;
    }
  }

  /** @param listener called whenever Redis has become usable, with connections of which one at least is new */
  onUp(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** To be told of a command that failed: when Redis says that the right is gone, it is down until it is given back. */
  onFailure(error: unknown): void {
    const refusal = this.usable && asRefusal(error, this.client);
    if (refusal) this.onUnusable(refusal);
  }

  /** A new connection begins with no subscription at all, and with the trial. */
  renewSubscriber(): void {
    reconnect(this.subscriber);
  }

  onApplicationShutdown(): void {
    this.forget();
    clearInterval(this.pings);
    this.client.disconnect();
    this.subscriber.disconnect();
  }

  private async try(): Promise<void> {
    clearTimeout(this.nextTrial);
    if (!isReady(this.client) || !isReady(this.subscriber)) return; // the other one will call
    const epoch = ++this.epoch;
    try {
      await tryOut(this, this.channel, this.counts);
      if (epoch === this.epoch) this.onUsable();
    } catch (error) {
      if (epoch === this.epoch) this.onUnusable(error);
    }
  }

  private onUsable(): void {
    this.usable = true;
    if (this.told !== undefined) this.logger.log('Redis is back');
    this.told = undefined;
    for (const listener of this.listeners) listener();
  }

  private onUnusable(error: unknown): void {
    this.usable = false;
    const reason = error instanceof Error ? error.message : 'unknown';
    if (this.told !== reason) this.logger.warn(`Redis cannot be used, and counts as away: ${reason}`);
    this.told = reason;
    this.nextTrial = setTimeout(() => {
      if (error instanceof Unusable && error.elsewhere) this.reconnect();
      else void this.try();
    }, TRY_AGAIN_MS).unref();
  }

  /** Every attempt to reconnect brings an error: only the first one is logged. */
  private onError(error: Error): void {
    if (this.told !== undefined) return;
    this.logger.warn({ err: error, msg: 'Redis is away' });
    this.told = error.message;
  }

  private forget(): void {
    this.epoch++;
    this.usable = false;
    clearTimeout(this.nextTrial);
  }

  private reconnect(): void {
    for (const connection of [this.client, this.subscriber]) reconnect(connection);
  }
}

function isReady({ status }: Redis): boolean {
  return status === 'ready';
}

/** Not while it is connecting: in the middle of its questions to Sentinels, ioredis would give up for good. */
function reconnect(connection: Redis): void {
  if (isReady(connection)) connection.disconnect(true);
}
