import { Inject, Injectable } from '@nestjs/common';
import { Sql } from '../database/sql.js';
import { RedisConnection } from '../redis/redis-connection.js';

const PING = { name: 'ping', text: 'SELECT 1' };

/** Whether a load balancer should send requests here. */
@Injectable()
export class Readiness {
  private stopping = false;

  constructor(
    private readonly sql: Sql,
    @Inject(RedisConnection) private readonly redisConnection: RedisConnection | undefined,
  ) {}

  /** From now on not ready: the service is about to stop (contract §1). */
  stop(): void {
    this.stopping = true;
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  async database(): Promise<'up' | 'down'> {
    try {
      await this.sql.query(PING, []);
      return 'up';
    } catch {
      return 'down';
    }
  }

  /** Undefined where no Redis is configured. */
  async redis(): Promise<'up' | 'down' | undefined> {
    if (!this.redisConnection) return undefined;
    return (await this.redisConnection.isUp()) ? 'up' : 'down';
  }
}
