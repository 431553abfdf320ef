import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimits } from '../http/rate-limit.js';
import { Limits } from './limits.js';
import { RateLimitGuard } from './rate-limit.guard.js';

/** Part of the application only while RATE_LIMIT is on: off, it costs nothing. */
@Global()
@Module({
  providers: [
    { provide: RateLimits, useClass: Limits },
    { provide: APP_GUARD, useClass: RateLimitGuard },
  ],
  exports: [RateLimits],
})
export class RateLimitModule {}
