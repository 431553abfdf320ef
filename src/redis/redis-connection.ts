import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';

/** The service's connection to Redis, which may come and go. */
export class RedisConnection implements OnApplicationShutdown {
  private readonly logger = new Logger(RedisConnection.name);
  private lost = false;

  /** @param client fails at once while Redis is away: callers go on without it meanwhile */
  constructor(readonly client: Redis) {
    client.on('error', (error) => this.onError(error));
    client.on('ready', () => this.onReady());
  }

  /** Whether Redis answers now. */
  async isUp(): Promise<boolean> {
    try {
      await this.client.ping();
      return true;
    } catch {
      return false;
    }
  }

  onApplicationShutdown(): void {
    this.client.disconnect();
  }

  /** Every attempt to reconnect brings an error: only the first one is logged. */
  private onError(error: Error): void {
    if (!this.lost) this.logger.warn({ err: error, msg: 'Redis is away' });
    this.lost = true;
  }

  private onReady(): void {
    if (this.lost) this.logger.log('Redis is back');
    this.lost = false;
  }
}
