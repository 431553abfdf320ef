import { SetMetadata } from '@nestjs/common';
import type { Request } from 'express';

/** What is counted for each address, per minute (contract §2, RATE_LIMIT). */
export type Limit = 'authorize' | 'token' | 'refresh' | 'bad_token' | 'connect';

/** What is counted for each user, per minute. */
export type UserLimit = 'read' | 'write';

export const RATE_LIMIT = 'latchkey:rate-limit';

type RouteLimit = Exclude<Limit, 'bad_token' | 'connect'>;

/** The limit that the requests to a route count towards, or which one each of them does. */
export type LimitOfRoute = RouteLimit | ((request: Request) => RouteLimit);

/** Every request to this route counts towards a limit. Without effect while RATE_LIMIT is off. */
export const RateLimit = (limit: LimitOfRoute): MethodDecorator => SetMetadata(RATE_LIMIT, limit);

/** Counts requests, or counts nothing while RATE_LIMIT is off. */
export abstract class RateLimits {
  /**
   * Counts one request, or one refused token, of an address.
   * @param address the client's, as Express's `request.ip` has it (it honours `trust proxy`)
   * @throws OAuthError `slow_down` when the address has used up what it may do this minute
   */
  abstract count(limit: Limit, address: string | undefined): Promise<void>;

  /**
   * Counts one request of a user whose token is good.
   * @throws OAuthError `slow_down` when the user has used up what a user may do this minute
   */
  abstract countUser(limit: UserLimit, userId: string): Promise<void>;
}
