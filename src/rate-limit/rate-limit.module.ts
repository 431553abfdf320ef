import { Global, Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { Settings } from '../config/settings/settings.js';
import { RateLimits } from '../http/rate-limit.js';
import { Limits, RateLimitGuard } from './limits.js';

const NO_LIMITS: RateLimits = {
  count: async () => undefined,
  isExceeded: async () => false,
  countUser: async () => undefined,
};

/** Provides RateLimits. While RATE_LIMIT is off no guard is registered, so requests cost nothing. */
@Global()
@Module({ exports: [RateLimits] })
export class RateLimitModule {
  static forRoot({ rateLimit }: Settings): DynamicModule {
    const on = [
      { provide: RateLimits, useClass: Limits },
      { provide: APP_GUARD, useClass: RateLimitGuard },
    ];
    const off = [{ provide: RateLimits, useValue: NO_LIMITS }];
    return { module: RateLimitModule, providers: rateLimit ? on : off };
  }
}
