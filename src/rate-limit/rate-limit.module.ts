import {
  Global,
  Injectable,
  Module,
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import type { Request } from 'express';
import type { Settings } from '../config/settings/settings.js';
import { RATE_LIMIT, RateLimits, type LimitOfRoute } from '../http/rate-limit.js';
import { Limits } from './limits.js';

/** Counts the requests to every route that declares `@RateLimit(…)`, whether they succeed or fail. */
@Injectable()
class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limit = this.reflector.get<LimitOfRoute | undefined>(RATE_LIMIT, context.getHandler());
    if (limit === undefined) return true;
    const request = context.switchToHttp().getRequest<Request>();
    const counted = typeof limit === 'function' ? limit(request) : limit;
    return this.limits.count(counted, request.ip).then(() => true);
  }
}

const NO_LIMITS: RateLimits = { count: async () => undefined, countUser: async () => undefined };

/**
 * Provides RateLimits: without this module the start fails, instead of leaving a limit out. While RATE_LIMIT is off no guard
 * is registered, so requests cost nothing.
 */
@Global()
@Module({ exports: [RateLimits] })
export class RateLimitModule {
  static with({ rateLimit }: Settings): DynamicModule {
    const on = [
      { provide: RateLimits, useClass: Limits },
      { provide: APP_GUARD, useClass: RateLimitGuard },
    ];
    const off = [{ provide: RateLimits, useValue: NO_LIMITS }];
    return { module: RateLimitModule, providers: rateLimit ? on : off };
  }
}
