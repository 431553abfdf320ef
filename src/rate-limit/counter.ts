import { Logger } from '@nestjs/common';
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import { widerNetworkOf } from '../http/network.js';
import type { RedisConnection } from '../redis/redis-connection.js';

/** As long as a key lives: all keys that may be alive began in this span or in the one before. */
const SPAN_MS = 60_000;

/** The most keys that may be counted at this moment, known without a list of them. */
class LiveKeys {
  private before = 0;
  private now = 0;
  private began = performance.now();

  /** A key has begun its minute. */
  add(): void {
    this.turn();
    this.now++;
  }

  get most(): number {
    this.turn();
    return this.before + this.now;
  }

  private turn(): void {
    const passed = performance.now() - this.began;
    if (passed < SPAN_MS) return;
    this.before = passed < 2 * SPAN_MS ? this.now : 0;
    this.now = 0;
    this.began = performance.now();
  }
}

const MINUTE_S = 60;
/** How many keys are counted apart in memory, about 25 MB: someone with a whole network could otherwise take all of it. */
const MOST_KEYS = 50_000;

/** A key that has used up its minute. */
export interface Exceeded {
  /** Time until the next minute of this key begins. */
  readonly milliseconds: number;
  /** Whether this is the first refusal of the minute, on any instance. */
  readonly first: boolean;
}

/** Counts keys, each for a minute from its first use: in Redis where there is one, so that all instances count together. */
export class Counter {
  private readonly logger = new Logger('RateLimits');
  private readonly memory: RateLimiterMemory;
  private readonly shared?: RateLimiterRedis;
  private readonly keys = new LiveKeys();
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
    // A key that was refused is refused from memory until its minute has ended: a flood costs Redis nothing.
    this.shared = new RateLimiterRedis({
      ...options,
      storeClient: redis.client,
      inMemoryBlockOnConsumed: points + 1,
    });
  }

  /** Counts one use of a key. @returns undefined while it may go on. */
  async count(key: string): Promise<Exceeded | undefined> {
    if (!this.shared || !this.redis?.isUsable) return this.countInMemory(key);
    try {
      const exceeded = await this.countIn(this.shared, key);
      if (exceeded && exceeded.milliseconds > MINUTE_S * 1000) throw this.notOurs();
      this.failing = false;
      return exceeded;
    } catch (error) {
      this.warnOnce(error);
      return this.countInMemory(key);
    }
  }

  /** While there are too many keys, new ones are counted together, by their wider network. */
  private async countInMemory(key: string): Promise<Exceeded | undefined> {
    const isCounted = this.keys.most < this.mostKeys || (await this.memory.get(key)) !== null;
    return this.countIn(this.memory, isCounted ? key : widerNetworkOf(key));
  }

  /** A count that outlives its minute was written by somebody else: it must not be remembered here either. */
  private notOurs(): Error {
    this.shared!.deleteInMemoryBlockedAll();
    return new Error('a count in Redis lasts longer than a minute');
  }

  /** Warns of a Redis that answers but refuses (full, no permission); RedisConnection warns of one that is away. */
  private warnOnce(error: unknown): void {
    if (this.failing || this.redis?.client.status !== 'ready') return;
    this.failing = true;
    this.logger.warn({ err: error, msg: 'Redis does not count: each instance counts alone' });
  }

  private async countIn(limiter: RateLimiterAbstract, key: string): Promise<Exceeded | undefined> {
    try {
      const { isFirstInDuration } = await limiter.consume(key);
      if (isFirstInDuration && limiter === this.memory) this.keys.add();
      return undefined;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      const { msBeforeNext, consumedPoints } = rejection;
      return { milliseconds: msBeforeNext, first: consumedPoints === this.points + 1 };
    }
  }
}
