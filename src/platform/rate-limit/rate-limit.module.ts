import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Settings } from '../config/settings/settings.js';
import { RateLimits } from '../http/rate-limit.js';
import { Limits } from './limits.js';

const NO_LIMITS: RateLimits = {
  count: async () => undefined,
  isExceeded: async () => false,
  countUser: async () => undefined,
};

/** Provides RateLimits; app.module.ts registers the guard. */
@Global()
@Module({ exports: [RateLimits] })
export class RateLimitModule {
  static forRoot({ rateLimit }: Settings): DynamicModule {
    const limits = rateLimit ? { useClass: Limits } : { useValue: NO_LIMITS };
    return { module: RateLimitModule, providers: [{ provide: RateLimits, ...limits }] };
  }
}
