import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Declared } from '../declared.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { RateLimits, type Limit, type UserLimit } from '../http/rate-limit.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { Counter } from './counter.js';
import { networkOf } from '../http/network.js';

/** Pages of devices a minute and user: each may read all the user's sessions, which takes milliseconds. */
const READS = 600;

@Injectable()
export class Limits extends RateLimits {
  /** None while RATE_LIMIT is off. */
  private readonly counters: ReadonlyMap<string, Counter>;

  constructor(
    private readonly events: Events,
    @Inject(SETTINGS) settings: Settings,
    @Inject(RedisConnection) redis: RedisConnection | undefined,
    declared: Declared,
  ) {
    super();
    const limits: Readonly<Record<string, number>> = {
      authorize: settings.rateLimitAuthorize,
      token: settings.rateLimitToken,
      refresh: settings.rateLimitRefresh,
      bad_token: settings.rateLimitBadToken,
      connect: settings.rateLimitConnect,
      read: READS,
      write: settings.rateLimitWrite,
      ...declared.limits,
    };
    const counters = Object.entries(settings.rateLimit ? limits : {});
    this.counters = new Map(counters.map(([name, points]) => [name, new Counter(name, points, redis)]));
  }

  async count(limit: Limit, address: string | undefined): Promise<void> {
    const network = networkOf(address);
    await this.consume(limit, network, { address: network });
  }

  async isExceeded(limit: Limit, address: string | undefined): Promise<boolean> {
    return (await this.counters.get(limit)?.isExceeded(networkOf(address))) ?? false;
  }

  async countUser(limit: UserLimit, userId: string): Promise<void> {
    await this.consume(limit, userId, { userId });
  }

  private async consume(
    limit: Limit | UserLimit,
    key: string,
    subject: { address: string } | { userId: string },
  ): Promise<void> {
    const exceeded = await this.counters.get(limit)?.count(key);
    if (!exceeded) return;
    // once a minute, also in a flood
    if (exceeded.first) this.events.emit('rate_limit.exceeded', { limit, ...subject });
    const seconds = Math.max(1, Math.ceil(exceeded.milliseconds / 1000));
    throw new OAuthError('slow_down', 'too many requests', { headers: { 'Retry-After': String(seconds) } });
  }
}
