import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { RATE_LIMIT, RateLimits, type Limit } from '../http/rate-limit.js';

/** Counts the requests to every route that declares `@RateLimit(…)`, whether they succeed or fail. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limit = this.reflector.get<Limit | undefined>(RATE_LIMIT, context.getHandler());
    if (limit === undefined) return true;
    const { ip } = context.switchToHttp().getRequest<Request>();
    return this.limits.count(limit, ip).then(() => true);
  }
}
