import { Body, Controller, Get, Headers, HttpCode, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Public } from '../token/guard/access.js';
import { TokenService, RefreshedToken } from '../token/refresh/token.service.js';
import { AuthService } from './auth.service.js';
import type { AuthorizeDto } from './authorize.dto.js';
import { ClientAuthorization } from './clients/client-authorization.js';
import { ClientAuthorizeDto } from './clients/client-authorize.dto.js';
import { ClientErrorFilter } from './clients/client-error.filter.js';
import { ClientExchange } from './clients/client-exchange.js';
import { ClientTokenDto } from './clients/client-token.dto.js';
import { refuseHead, sendNext } from './clients/send-next.js';
import { RateLimit } from '../http/rate-limit.js';
import { Authorization, AuthorizeRequestPipe, isOfStockClient } from './authorize.dto.js';
import { limitOf, TokenRequestPipe, type TokenRequest } from './grant.js';
import { IssuedTokens, RefreshDto } from './token.dto.js';

/** The three public endpoints of spec §4. */
@Public()
@Controller('oauth2')
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly tokens: TokenService,
    private readonly clientAuthorization: ClientAuthorization,
    private readonly clientExchange: ClientExchange,
  ) {}

  /** Begin a sign-in: where to send the user (spec §4.2). With `response_type` it sends them there itself (contract §4). */
  @Get('authorize')
  @RateLimit('authorize')
  @UseFilters(new ClientErrorFilter(isOfStockClient))
  async authorize(
    @Query(AuthorizeRequestPipe) query: AuthorizeDto | ClientAuthorizeDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Authorization | string> {
    if (!(query instanceof ClientAuthorizeDto)) return this.auth.authorize(query);
    refuseHead(request);
    return sendNext(await this.clientAuthorization.begin(query), response);
  }

  /** Exchange an authorization code for tokens (spec §4.3); with `grant_type=refresh_token` the same as below (contract §4). */
  @Post('token')
  @RateLimit(limitOf)
  @HttpCode(200)
  token(
    @Body(TokenRequestPipe) body: TokenRequest,
    @Headers('user-agent') userAgent?: string,
    @Headers('dpop') header?: string,
    @Headers('authorization') authorization?: string,
  ): Promise<IssuedTokens | RefreshedToken> {
    const call = { header, path: '/oauth2/token' } as const;
    if (body instanceof RefreshDto) return this.tokens.refresh(body.refresh_token, call);
    if (body instanceof ClientTokenDto) {
      return this.clientExchange.exchange(body, call, { authorization, userAgent });
    }
    return this.auth.exchange(body, call, userAgent);
  }

  /** A new access token for a refresh token (spec §4.4). */
  @Post('refresh')
  @RateLimit('refresh')
  @HttpCode(200)
  refresh(@Body() body: RefreshDto, @Headers('dpop') header?: string): Promise<RefreshedToken> {
    return this.tokens.refresh(body.refresh_token, { header, path: '/oauth2/refresh' });
  }
}
