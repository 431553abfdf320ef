import { Reflector } from '@nestjs/core';
import type { Request } from 'express';

/** Limits for an address and minute (docs/settings.md#proxy-and-rate-limits). */
export type Limit = RouteLimit | keyof OtherLimits;

/** Limits for a user and minute. */
export type UserLimit = 'read' | 'write';

type RouteLimit = 'authorize' | 'token' | 'refresh';

/** Limits that code counts itself. Features add limits, whose number their `limits` say. */
export interface OtherLimits extends Record<'bad_token' | 'connect', true> {}

/** The body chooses the limit; it is read only if one of them has room. */
export interface LimitByBody {
  readonly oneOf: readonly RouteLimit[];
  readonly choose: (request: Request) => Promise<RouteLimit>;
}

/**
 * A signed token in the body authenticates a request. An address with too many bad tokens can send larger
 * bodies no more; smaller ones are read, since a valid token is never refused.
 */
export interface LimitOfTokens {
  readonly largestToken: number;
}

/** The limit of a route, or the choice of one for a request. */
export type LimitOfRoute = RouteLimit | LimitByBody | LimitOfTokens;

/** Counts the requests to a route towards a limit. No effect while RATE_LIMIT is off. */
export const RateLimit = Reflector.createDecorator<LimitOfRoute>();

/** Counts requests; no effect while RATE_LIMIT is off. */
export abstract class RateLimits {
  /** Counts a request, or a refused token, of an address. @throws OAuthError `slow_down` beyond the limit */
  abstract count(limit: Limit, address: string | undefined): Promise<void>;

  /** Whether an address exceeds a limit now, as far as this instance knows. Counts nothing. */
  abstract isExceeded(limit: Limit, address: string | undefined): Promise<boolean>;

  /** Counts a request with a valid token of a user. @throws OAuthError `slow_down` beyond the limit */
  abstract countUser(limit: UserLimit, userId: string): Promise<void>;
}
