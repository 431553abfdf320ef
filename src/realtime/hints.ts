import { Injectable, Logger, Optional, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { ChannelEvent } from '../channel/channel-event.js';
import { OAuthError } from '../errors/oauth-error.js';
import { RedisConnection } from '../redis/redis-connection.js';

const PREFIX = 'latchkey:user:';

/**
 * Tells other instances of events, over a Redis channel for each user: an instance subscribes to those of its own users,
 * so its load does not grow with the users of the others. What is lost here is found in the history.
 */
@Injectable()
export class Hints implements OnApplicationShutdown {
  private readonly logger = new Logger(Hints.name);
  private readonly subscriber?: Redis;
  private readonly users = new Set<string>();
  /** Called with every event of another instance. */
  onEvent: (event: ChannelEvent) => void = () => undefined;
  /** Called when hints may have been lost, once they arrive again. */
  onBack: () => void = () => undefined;

  constructor(@Optional() private readonly redis?: RedisConnection) {
    if (!redis) return;
    // A connection that listens may be silent for long, and wants its subscriptions back by itself.
    this.subscriber = redis.client.duplicate({
      connectionName: 'latchkey-hints',
      commandTimeout: undefined,
      socketTimeout: undefined,
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      keepAlive: 5000,
    });
    this.subscriber.on('error', () => undefined); // RedisConnection tells of it
    this.subscriber.on('message', (_channel: string, message: string) =>
      this.onEvent(JSON.parse(message) as ChannelEvent),
    );
    this.subscriber.on('ready', () => void this.resubscribe());
  }

  /** @throws OAuthError `server_error` while Redis is away: a push would not reach everyone (contract §7). */
  async assertUp(): Promise<void> {
    if (!this.redis || (await this.redis.isUp())) return;
    throw new OAuthError('server_error', 'Redis is unavailable', { headers: { 'Retry-After': '1' } });
  }

  /** Resolves when hints of a user arrive; at once while Redis is away, since the history is read when it is back. */
  async subscribe(userId: string): Promise<void> {
    this.users.add(userId);
    if (this.subscriber?.status === 'ready')
      await this.subscriber.subscribe(PREFIX + userId).catch(() => undefined);
  }

  unsubscribe(userId: string): void {
    this.users.delete(userId);
    if (this.subscriber?.status === 'ready')
      this.subscriber.unsubscribe(PREFIX + userId).catch(() => undefined);
  }

  publish(event: ChannelEvent): void {
    this.redis?.client.publish(PREFIX + event.userId, JSON.stringify(event)).catch((error: unknown) => {
      this.logger.debug({ err: error, msg: 'a hint was lost' });
    });
  }

  onApplicationShutdown(): void {
    this.subscriber?.disconnect();
  }

  private async resubscribe(): Promise<void> {
    const channels = [...this.users].map((userId) => PREFIX + userId);
    try {
      if (channels.length > 0) await this.subscriber!.subscribe(...channels);
      this.onBack();
    } catch (error) {
      this.logger.debug({ err: error, msg: 'Redis went away again' });
    }
  }
}
