import { Controller, HttpCode, Ip, Post, UseFilters, type Type } from '@nestjs/common';
import { RequestOrigin, type Origin } from '../../../audit/audit-event.js';
import { RateLimit } from '../../../platform/http/rate-limit.js';
import { Public } from '../../../platform/http/access.js';
import { Signals } from '../effect/signals.service.js';
import { SecurityEventToken } from './set-body.js';
import { setErrorFilter } from './set-error.js';

/** Returns a controller for one provider: the path exists for providers with `signals=on` only. */
export function signalsOf(provider: string): Type {
  @Public()
  @UseFilters(setErrorFilter)
  @Controller(`providers/${provider}`)
  class SignalsController {
    constructor(private readonly signals: Signals) {}

    /** Receives an event of the provider's transmitter (RFC 8935); its signature authenticates it. */
    @RateLimit({ largestToken: 9216 })
    @Post('signals')
    @HttpCode(202)
    async receive(
      @SecurityEventToken() token: string,
      @RequestOrigin() origin: Origin,
      @Ip() address?: string,
    ): Promise<void> {
      await this.signals.receive(provider, token, origin, address);
    }
  }
  return SignalsController;
}
