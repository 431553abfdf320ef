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
/** Keys in memory, about 25 MB: a client with a whole network could otherwise fill the memory. */
const MOST_KEYS = 50_000;

export interface Exceeded {
  readonly milliseconds: number;
  /** Whether this is the first rejection of the minute, on any instance. */
  readonly first: boolean;
}

/** Counts uses of keys, each for a minute from its first use: in Redis, if usable, for all instances. */
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
      if (exceeded) await this.remember(key, exceeded);
      return exceeded;
    } catch (error) {
      this.warnOnce(error);
      return this.countInMemory(key);
    }
  }

  /** Whether the key is beyond the limit, as far as this instance knows: of Redis, its own rejections. */
  async isExceeded(key: string): Promise<boolean> {
    const counted = await this.memory.get(await this.keyInMemory(key));
    return counted !== null && counted.consumedPoints > this.points;
  }

  private async countInMemory(key: string): Promise<Exceeded | undefined> {
    return this.countIn(this.memory, await this.keyInMemory(key));
  }

  /** Beyond the bound, new keys are counted together, by their wider network. */
  private async keyInMemory(key: string): Promise<string> {
    const isCounted = this.keys < this.mostKeys || (await this.memory.get(key)) !== null;
    return isCounted ? key : widerNetworkOf(key);
  }

  /** Keeps a rejection of Redis for `isExceeded`, unless the memory is full. */
  private async remember(key: string, exceeded: Exceeded): Promise<void> {
    if (this.keys >= this.mostKeys || (await this.isExceeded(key))) return;
    const milliseconds = Math.max(1, exceeded.milliseconds); // 0 would block for ever
    this.forgetAfter(milliseconds);
    await this.memory.block(key, milliseconds / 1000);
  }

  private forgetAfter(milliseconds: number): void {
    this.keys++;
    setTimeout(() => this.keys--, milliseconds).unref();
  }

  /** Warns if Redis rejects the command (full, no permission); RedisConnection warns of lost connections. */
  private warnOnce(error: unknown): void {
    if (this.failing || this.redis?.client.status !== 'ready') return;
    this.failing = true;
    this.logger.warn({ err: error, msg: 'Redis does not count: each instance counts alone' });
  }

  private async countIn(limiter: RateLimiterAbstract, key: string): Promise<Exceeded | undefined> {
    try {
      const { isFirstInDuration } = await limiter.consume(key);
      if (isFirstInDuration && limiter === this.memory) {
        this.forgetAfter(MINUTE_S * 1000);
      }
      return undefined;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const { msBeforeNext, consumedPoints } = rejection;
      return { milliseconds: msBeforeNext, first: consumedPoints === this.points + 1 };
    }
  }
}
