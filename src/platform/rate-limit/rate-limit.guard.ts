import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import {
  RateLimit,
  RateLimits,
  type LimitByBody,
  type LimitOfRoute,
  type LimitOfTokens,
} from '../http/rate-limit.js';

/** Counts the requests to every route that declares `@RateLimit(…)`, whether they succeed or fail. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const limit = this.reflector.get<LimitOfRoute | undefined>(RateLimit.KEY, context.getHandler());
    if (limit === undefined) return true;
    const request = context.switchToHttp().getRequest<Request>();
    if (typeof limit === 'object' && 'largestToken' in limit) return this.refuseLarge(limit, request);
    if (typeof limit !== 'string') return this.countByBody(limit, request);
    return this.limits.count(limit, request.ip).then(() => true);
  }

  private async refuseLarge({ largestToken }: LimitOfTokens, { headers, ip }: Request): Promise<true> {
    const isSmall = Number(headers['content-length'] ?? Infinity) <= largestToken;
    if (!isSmall && (await this.limits.isExceeded('bad_token', ip))) await this.limits.count('bad_token', ip);
    return true;
  }

  private async countByBody({ oneOf, choose }: LimitByBody, request: Request): Promise<true> {
    const exceeded = await Promise.all(oneOf.map((limit) => this.limits.isExceeded(limit, request.ip)));
    const limit = exceeded.includes(false) ? await choose(request) : oneOf[0]!;
    await this.limits.count(limit, request.ip);
    return true;
  }
}
