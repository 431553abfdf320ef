import { Controller, Get, Param, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimit } from '../../http/rate-limit.js';
import { Public } from '../../token/guard/access.js';
import { ClientCallback } from './client-callback.js';
import { ClientCallbackDto } from './clients.dto.js';
import { ClientErrorFilter } from './client-error.filter.js';
import { refuseHead, sendNext } from './send-next.js';

/** Callback of each provider in a sign-in for a stock OAuth client (contract §4). */
@Public()
@Controller('providers/:name')
@UseFilters(new ClientErrorFilter(() => true))
export class ClientCallbackController {
  constructor(private readonly callback: ClientCallback) {}

  /**
   * Receive the callback of a provider, for a stock OAuth client
   *
   * The address to register with the provider. The browser is redirected to the client, with a code that Latchkey issues, the
   * client’s `state` and `iss`, or with an error.
   *
   * @returns {302} To the client.
   * @throws OAuthError `invalid_grant`, `not_found`
   */
  @Get('callback')
  @RateLimit('token')
  async providerCallback(
    @Param('name') name: string,
    @Query() params: ClientCallbackDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    refuseHead(request);
    return sendNext({ address: await this.callback.receive(name, params) }, response);
  }
}
