import { Inject, Injectable, Logger } from '@nestjs/common';
import { WriteCheck } from '../database/start/write-check.js';
import { RedisConnection } from '../redis/redis-connection.js';

/** Whether a load balancer should send requests here. */
@Injectable()
export class Readiness {
  private readonly logger = new Logger(Readiness.name);
  private stopping = false;
  private isUsable = true;

  constructor(
    private readonly writes: WriteCheck,
    @Inject(RedisConnection) private readonly redisConnection: RedisConnection | undefined,
  ) {}

  /** From now on not ready: the service is about to stop (contract §1). */
  stop(): void {
    this.stopping = true;
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  /** `up`: what a client is told to be stored will be. A server that can only be read is `down` (contract §4). */
  async database(): Promise<'up' | 'down'> {
    const fault = await this.writes.check().then(
      () => undefined,
      (error: unknown) => error,
    );
    this.tell(fault);
    return fault === undefined ? 'up' : 'down';
  }

  /** The answer has no room for a reason; the log has. */
  private tell(fault: unknown): void {
    const isUsable = fault === undefined;
    if (isUsable === this.isUsable) return;
    this.isUsable = isUsable;
    if (isUsable) this.logger.log('the database can be written to again');
    else this.logger.warn({ msg: 'not ready: the database cannot be written to', err: fault });
  }

  /** Undefined where no Redis is configured. */
  async redis(): Promise<'up' | 'down' | undefined> {
    if (!this.redisConnection) return undefined;
    return (await this.redisConnection.isUp()) ? 'up' : 'down';
  }
}
