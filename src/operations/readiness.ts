import { Inject, Injectable, Logger } from '@nestjs/common';
import { WriteCheck } from '../database/start/write-check.js';
import { RedisConnection } from '../redis/redis-connection.js';

/** Whether a load balancer should send requests to this instance (contract §4). */
@Injectable()
export class Readiness {
  private readonly logger = new Logger(Readiness.name);
  private stopping = false;
  private wasWritable = true;

  constructor(
    private readonly writes: WriteCheck,
    @Inject(RedisConnection) private readonly redisConnection: RedisConnection | undefined,
  ) {}

  /** Makes the instance not ready: the service is about to stop (contract §1). */
  stop(): void {
    this.stopping = true;
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  /** Returns `up` if the database can be written to. The reason for `down` is in the log only. */
  async database(): Promise<'up' | 'down'> {
    try {
      await this.writes.check();
    } catch (error) {
      if (this.wasWritable) {
        this.logger.warn({ msg: 'not ready: the database cannot be written to', err: error });
      }
      this.wasWritable = false;
      return 'down';
    }
    if (!this.wasWritable) this.logger.log('the database can be written to again');
    this.wasWritable = true;
    return 'up';
  }

  /** Returns undefined if no Redis is configured. */
  async redis(): Promise<'up' | 'down' | undefined> {
    if (!this.redisConnection) return undefined;
    return (await this.redisConnection.isUp()) ? 'up' : 'down';
  }
}
