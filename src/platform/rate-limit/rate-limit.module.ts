import { Global, Module } from '@nestjs/common';
import { RateLimits } from '../http/rate-limit.js';
import { Limits } from './limits.js';

/** Provides RateLimits; app.module.ts registers the guard. */
@Global()
@Module({ providers: [{ provide: RateLimits, useClass: Limits }], exports: [RateLimits] })
export class RateLimitModule {}
