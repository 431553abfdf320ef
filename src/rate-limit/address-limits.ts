import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { RateLimits, type Limit } from '../http/rate-limit.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { Counter } from './counter.js';
import { networkOf } from './network.js';

/** The limits of contract §2, for each address. */
@Injectable()
export class AddressLimits extends RateLimits {
  private readonly counters: Readonly<Record<Limit, Counter>>;

  constructor(
    private readonly events: Events,
    @Inject(SETTINGS) { rateLimit }: Settings,
    @Optional() redis?: RedisConnection,
  ) {
    super();
    this.counters = {
      authorize: new Counter('authorize', rateLimit.authorize, redis?.client),
      token: new Counter('token', rateLimit.token, redis?.client),
      refresh: new Counter('refresh', rateLimit.refresh, redis?.client),
      bad_token: new Counter('bad_token', rateLimit.badToken, redis?.client),
    };
  }

  async count(limit: Limit, address: string | undefined): Promise<void> {
    const network = networkOf(address);
    const exceeded = await this.counters[limit].count(network);
    if (!exceeded) return;
    if (exceeded.first) this.events.emit('rate_limit.exceeded', { limit, address: network }); // a flood tells it once
    const seconds = Math.max(1, Math.ceil(exceeded.milliseconds / 1000));
    throw new OAuthError('slow_down', 'too many requests from this address', {
      headers: { 'Retry-After': String(seconds) },
    });
  }
}
