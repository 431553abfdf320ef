import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { decodeMessage, encodeMessage, partOf, type Notification } from './notification.js';
import type { FanoutTransport, TransportListener } from './transport.js';

const PREFIX = 'latchkey:user:';
const CHANNELS_A_COMMAND = 1000;

/**
 * Notifications over one Redis channel per user: an instance subscribes to its own users, so its load does not grow with those of
 * other instances. A client with write access to this Redis can suppress, read, and repeat messages, but not forge them: an
 * unsigned message only causes a read of the history.
 */
export class RedisTransport implements FanoutTransport {
  readonly largestUnkept = Infinity;
  private readonly logger = new Logger(RedisTransport.name);
  private readonly users = new Set<string>();
  /** Redis also delivers our own messages; an event with `ttl` 0 would then be delivered twice. */
  private readonly ownName = randomUUID();
  private listener: TransportListener | undefined;

  /** @param key 32 bytes, the same on all instances */
  constructor(
    private readonly redis: RedisConnection,
    private readonly key: Buffer,
  ) {}

  listen(listener: TransportListener): void {
    this.listener = listener;
    this.redis.subscriber.on('message', (channel: string, message: string) => {
      if (channel.startsWith(PREFIX)) this.receive(channel.slice(PREFIX.length), message, listener);
    });
    this.redis.onUp(() => {
      listener.onUp();
      void this.resubscribe();
    });
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
      await this.redis.subscriber.subscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  unsubscribe(userId: string): void {
    this.users.delete(userId);
    this.redis.subscriber.unsubscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  async send(notification: Notification): Promise<void> {
    try {
      const message = encodeMessage(this.ownName, [partOf(notification)], this.key);
      await this.redis.client.publish(PREFIX + notification.userId, message);
    } catch (error) {
      this.redis.onFailure();
      throw error;
    }
  }

  private receive(userId: string, text: string, listener: TransportListener): void {
    const message = decodeMessage(text, this.key);
    if (message?.from === this.ownName) return;
    if (!message || message.isDoubtful) listener.onDoubt(userId);
    for (const notification of message?.notifications ?? []) {
      if (notification.userId === userId) listener.onNotification(notification);
      else listener.onDoubt(userId); // a message of another channel, repeated here
    }
  }

  private async resubscribe(): Promise<void> {
    const channels = [...this.users].map((userId) => PREFIX + userId);
    try {
      while (channels.length > 0)
        await this.redis.subscriber.subscribe(...channels.splice(-CHANNELS_A_COMMAND));
      this.listener?.onBack();
    } catch (error) {
      this.logger.debug({ err: error, msg: 'Redis went away again' });
      this.reconnect();
    }
  }

  /** A connection whose subscriptions are uncertain is useless; a new one begins with all of them. */
  private reconnect(): void {
    if (this.redis.isUsable) this.redis.renewSubscriber();
  }
}
