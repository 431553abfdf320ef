import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ForwardedToken } from '../../platform/http/access.js';
import { ForwardAuthDto } from './forward-auth.dto.js';
import { ForwardAuth } from './forward-auth.service.js';

/** For reverse proxies. Each method and each path below are this one (forward-auth.feature.ts). */
@ForwardedToken()
@Controller('forward-auth')
export class ForwardAuthController {
  constructor(private readonly forwardAuth: ForwardAuth) {}

  /**
   * Whether a request may pass a reverse proxy
   *
   * For nginx `auth_request`, Traefik ForwardAuth, Caddy `forward_auth` and Envoy `ext_authz`. Every method
   * gets this answer, also below `/forward-auth/`; the body is not read.
   *
   * @returns The user, in headers `X-Latchkey-…`. All are sent; one without a value is empty.
   * @throws OAuthError `insufficient_scope`, `insufficient_user_authentication`
   */
  @Get()
  async check(
    @Query() needed: ForwardAuthDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    const headers = await this.forwardAuth.headersFor(request.verified!, needed);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  }
}
