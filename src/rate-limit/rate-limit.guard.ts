import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { RATE_LIMIT, RateLimits, type LimitOfRoute } from '../http/rate-limit.js';

/** Counts the requests to every route that declares `@RateLimit(…)`, whether they succeed or fail. */
@Injectable()
export class RateLimitGuard implements CanActivate {
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
