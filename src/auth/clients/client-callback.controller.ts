import { Controller, Get, Param, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RateLimit } from '../../http/rate-limit.js';
import { Public } from '../../token/guard/access.js';
import { ClientCallback } from './client-callback.js';
import { ClientCallbackDto } from './clients.dto.js';
import { ClientErrorFilter } from './client-error.filter.js';
import { refuseHead, sendNext } from './send-next.js';

/** Where providers send the browser in a sign-in for a stock OAuth client: one address for each (contract §4). */
@Public()
@Controller('providers/:name')
@UseFilters(new ClientErrorFilter(() => true))
export class ClientCallbackController {
  constructor(private readonly callback: ClientCallback) {}

  /**
   * Where a provider sends the browser back, for a stock OAuth client
   *
   * The address to register with the provider. The browser goes on to the client, with a code of Latchkey’s own, the client’s
   * `state` and `iss`, or with an error.
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
