import { Global, Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { Settings } from '../config/settings/settings.js';
import { RateLimits } from '../http/rate-limit.js';
import { Limits } from './limits.js';
import { NoLimits } from './no-limits.js';
import { RateLimitGuard } from './rate-limit.guard.js';

/**
 * Always part of the application: classes that count inject RateLimits, so without this module the start fails instead of
 * leaving a limit out. While RATE_LIMIT is off no guard is registered, which costs requests nothing.
 */
@Global()
@Module({ exports: [RateLimits] })
export class RateLimitModule {
  static with({ rateLimit }: Settings): DynamicModule {
    const on = [
      { provide: RateLimits, useClass: Limits },
      { provide: APP_GUARD, useClass: RateLimitGuard },
    ];
    const off = [{ provide: RateLimits, useClass: NoLimits }];
    return { module: RateLimitModule, providers: rateLimit ? on : off };
  }
}
