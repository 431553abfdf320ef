import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { RedisConnection } from '../../platform/redis/redis-connection.js';
import type { FanoutListener, FanoutTransport } from './fanout.js';
import { decodeMessage, encodeMessage, isFrom, type Notification } from './notification.js';

const PREFIX = 'latchkey:user:';
const CHANNELS_A_COMMAND = 1000;

/**
 * Notifications over one Redis channel per user: an instance receives only notifications of users who are
 * connected to it.
 */
export class RedisTransport implements FanoutTransport {
  readonly largestTransient = Infinity;
  private readonly logger = new Logger(RedisTransport.name);
  private readonly users = new Set<string>();
  /** Redis also delivers our own messages; an event with `ttl` 0 would then be delivered twice. */
  private readonly ownName = randomUUID();

  constructor(
    private readonly redis: RedisConnection,
    private readonly key: Buffer,
  ) {}

  listen(listener: FanoutListener): void {
    this.redis.subscriber.on('message', (channel: string, message: string) => {
      if (channel.startsWith(PREFIX)) this.receive(channel.slice(PREFIX.length), message, listener);
    });
    this.redis.onUp(() => void this.resubscribe(listener));
  }

  get isConnected(): boolean {
    return this.redis.isUsable;
  }

  isUp(): Promise<boolean> {
    return this.redis.isUp();
  }

  async subscribe(userId: string): Promise<void> {
    this.users.add(userId);
    if (this.redis.isUsable)
      await this.redis.subscriber.subscribe(PREFIX + userId).catch(() => this.redis.renewSubscriber());
  }

  unsubscribe(userId: string): void {
    this.users.delete(userId);
    this.redis.subscriber.unsubscribe(PREFIX + userId).catch(() => this.redis.renewSubscriber());
  }

  async send(notification: Notification): Promise<void> {
    try {
      await Promise.all(forEachUser(notification).map((one) => this.publish(...one)));
    } catch (error) {
      this.redis.onFailure();
      throw error;
    }
  }

  private async publish(userId: string, notification: Notification): Promise<void> {
    const message = encodeMessage(this.ownName, [JSON.stringify(notification)], this.key);
    await this.redis.client.publish(PREFIX + userId, message);
  }

  private receive(userId: string, text: string, listener: FanoutListener): void {
    if (isFrom(text, this.ownName)) return;
    const notifications = decodeMessage(text, this.key);
    if (!notifications) return listener.onDoubt(userId);
    for (const notification of notifications) {
      const ofUser = forEachUser(notification).every(([id]) => id === userId);
      if (ofUser) listener.onNotification(notification);
      else listener.onDoubt(userId); // another client repeated it on this channel
    }
  }

  private async resubscribe(listener: FanoutListener): Promise<void> {
    const channels = [...this.users].map((userId) => PREFIX + userId);
    try {
      while (channels.length > 0)
        await this.redis.subscriber.subscribe(...channels.splice(-CHANNELS_A_COMMAND));
      listener.onUp();
    } catch (error) {
      this.logger.debug({ err: error, msg: 'Redis went away again' });
      this.redis.renewSubscriber();
    }
  }
}

function forEachUser(notification: Notification): (readonly [userId: string, Notification])[] {
  if ('userId' in notification) return [[notification.userId, notification]];
  return notification.to.map((one) => [one[0], { ...notification, to: [one] }]);
}
