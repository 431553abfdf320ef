import { randomUUID } from 'node:crypto';
import { Injectable, Logger, Optional, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { ChannelEvent } from '../channel/channel-event.js';
import { OAuthError } from '../errors/oauth-error.js';
import { RedisConnection } from '../redis/redis-connection.js';

const PREFIX = 'latchkey:user:';
/** A connection that only listens would not notice that nothing comes any more: it asks. */
const PING_EVERY_MS = 1000;
const CHANNELS_A_COMMAND = 1000;

/** How far a user's history reaches, without the event that is there. */
interface Reach {
  readonly userId: string;
  readonly offset: number;
}

/**
 * Tells other instances of events, over a Redis channel for each user: an instance subscribes to those of its own users,
 * so its load does not grow with the users of the others. What is lost here is found in the history.
 */
@Injectable()
export class Hints implements OnApplicationShutdown {
  private readonly logger = new Logger(Hints.name);
  private readonly subscriber?: Redis;
  private readonly pings?: NodeJS.Timeout;
  private readonly users = new Set<string>();
  /** Redis brings back what we say ourselves; an event that is not kept would come twice. */
  private readonly ownName = randomUUID();
  /** Of events that were committed while Redis was away from here: nobody else has heard of them. */
  private readonly unsent = new Map<string, Reach>();
  /** Called with every event of another instance. */
  onEvent: (event: ChannelEvent) => void = () => undefined;
  /** Called when an event of another instance is in the history, and is all that is known of it. */
  onReach: (reach: Reach) => void = () => undefined;
  /** Called when hints may have been lost, once they arrive again. */
  onBack: () => void = () => undefined;

  constructor(@Optional() private readonly redis?: RedisConnection) {
    if (!redis) return;
    redis.client.on('ready', () => this.sendUnsent());
    const subscriber = redis.client.duplicate({
      connectionName: 'latchkey-hints',
      autoResubscribe: false, // resubscribe() knows better who is still here
      autoResendUnfulfilledCommands: false,
    });
    subscriber.on('error', () => undefined); // RedisConnection tells of it
    subscriber.on('message', (_channel: string, message: string) => this.receive(message));
    subscriber.on('ready', () => void this.resubscribe());
    this.subscriber = subscriber;
    this.pings = setInterval(() => void subscriber.ping().catch(() => undefined), PING_EVERY_MS).unref();
  }

  /** @throws OAuthError `server_error` while Redis is away: a push would not reach everyone (contract §7). */
  async assertUp(): Promise<void> {
    if (!this.redis || (await this.redis.isUp())) return;
    throw new OAuthError('server_error', 'Redis is unavailable', { headers: { 'Retry-After': '1' } });
  }

  /** Resolves when hints of a user arrive; soon while Redis is away, since the history is read when it is back. */
  async subscribe(userId: string): Promise<void> {
    this.users.add(userId);
    await this.subscriber?.subscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  unsubscribe(userId: string): void {
    this.users.delete(userId);
    this.subscriber?.unsubscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  publish(event: ChannelEvent): void {
    this.send(event.userId, event).catch((error: unknown) => {
      this.logger.debug({ err: error, msg: 'a hint was lost' });
      const { userId, offset } = event;
      if (offset !== null) this.unsent.set(userId, { userId, offset });
    });
  }

  onApplicationShutdown(): void {
    clearInterval(this.pings);
    this.subscriber?.disconnect();
  }

  private async send(userId: string, hint: ChannelEvent | Reach): Promise<void> {
    await this.redis?.client.publish(PREFIX + userId, JSON.stringify({ ...hint, from: this.ownName }));
  }

  private sendUnsent(): void {
    for (const [userId, reach] of this.unsent) {
      this.send(userId, reach).then(
        () => this.unsent.get(userId) === reach && this.unsent.delete(userId),
        () => undefined, // it stays for the next time
      );
    }
  }

  private receive(message: string): void {
    const { from, ...hint } = JSON.parse(message) as (ChannelEvent | Reach) & { from: string };
    if (from === this.ownName) return;
    if ('id' in hint) this.onEvent(hint);
    else this.onReach(hint);
  }

  private async resubscribe(): Promise<void> {
    const channels = [...this.users].map((userId) => PREFIX + userId);
    try {
      while (channels.length > 0) await this.subscriber!.subscribe(...channels.splice(-CHANNELS_A_COMMAND));
      this.onBack();
    } catch (error) {
      this.logger.debug({ err: error, msg: 'Redis went away again' });
      this.reconnect();
    }
  }

  /** A connection with subscriptions that are not certain is worth nothing; a new one begins with all of them. */
  private reconnect(): void {
    if (this.subscriber?.status === 'ready') this.subscriber.disconnect(true);
  }
}
