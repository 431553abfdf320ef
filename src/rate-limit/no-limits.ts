import { Injectable } from '@nestjs/common';
import { RateLimits } from '../http/rate-limit.js';

/** RATE_LIMIT is off: nothing is counted, and nobody is refused. */
@Injectable()
export class NoLimits extends RateLimits {
  async count(): Promise<void> {}

  async countUser(): Promise<void> {}
}
