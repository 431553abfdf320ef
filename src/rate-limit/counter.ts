import { Logger } from '@nestjs/common';
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import { widerNetworkOf } from '../http/network.js';
import type { RedisConnection } from '../redis/redis-connection.js';

const MINUTE_S = 60;
/** Keys that are counted separately in memory, about 25 MB: a client with a whole network could otherwise fill the memory. */
const MOST_KEYS = 50_000;

export interface Exceeded {
  readonly milliseconds: number;
  /** Whether this is the first rejection of the minute, on any instance. */
  readonly first: boolean;
}

/** Counts uses of keys, each for a minute from its first use: in Redis, if it is usable, for all instances together. */
export class Counter {
  private readonly logger = new Logger('RateLimits');
  private readonly memory: RateLimiterMemory;
  private readonly shared?: RateLimiterRedis;
  /** Keys whose minute in memory has not ended. */
  private keys = 0;
  private failing = false;

  constructor(
    name: string,
    private readonly points: number,
    private readonly redis?: RedisConnection,
    private readonly mostKeys = MOST_KEYS,
  ) {
    const options = { keyPrefix: `latchkey:limit:${name}`, points, duration: MINUTE_S };
    this.memory = new RateLimiterMemory(options);
    if (!redis) return;
    // A rejected key is rejected from memory until its minute has ended: a flood causes no load on Redis.
    this.shared = new RateLimiterRedis({
      ...options,
      storeClient: redis.client,
      inMemoryBlockOnConsumed: points + 1,
    });
  }

  /** @returns undefined if the use is within the limit */
  async count(key: string): Promise<Exceeded | undefined> {
    if (!this.shared || !this.redis?.isUsable) return this.countInMemory(key);
    try {
      const exceeded = await this.countIn(this.shared, key);
      this.failing = false;
      return exceeded;
    } catch (error) {
      this.warnOnce(error);
      return this.countInMemory(key);
    }
  }

  /** Beyond the bound, new keys are counted together, by their wider network. */
  private async countInMemory(key: string): Promise<Exceeded | undefined> {
    const isCounted = this.keys < this.mostKeys || (await this.memory.get(key)) !== null;
    return this.countIn(this.memory, isCounted ? key : widerNetworkOf(key));
  }

  /** Warns if Redis answers but rejects the command (full, no permission); RedisConnection warns of a lost connection. */
  private warnOnce(error: unknown): void {
    if (this.failing || this.redis?.client.status !== 'ready') return;
    this.failing = true;
    this.logger.warn({ err: error, msg: 'Redis does not count: each instance counts alone' });
  }

  private async countIn(limiter: RateLimiterAbstract, key: string): Promise<Exceeded | undefined> {
    try {
      const { isFirstInDuration } = await limiter.consume(key);
      if (isFirstInDuration && limiter === this.memory) {
        this.keys++;
        setTimeout(() => this.keys--, MINUTE_S * 1000).unref();
      }
      return undefined;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const { msBeforeNext, consumedPoints } = rejection;
      return { milliseconds: msBeforeNext, first: consumedPoints === this.points + 1 };
    }
  }
}
