import { Body, Controller, Get, Headers, HttpCode, Post, Query } from '@nestjs/common';
import { Public } from '../token/access.js';
import { TokenService, type RefreshedToken } from '../token/token.service.js';
import { AuthService, type Authorization } from './auth.service.js';
import { AuthorizeDto } from './authorize.dto.js';
import { limitOf } from './grant.js';
import { RefreshDto } from './refresh.dto.js';
import { TokenDto } from './token.dto.js';
import type { IssuedTokens } from './token-issuer.js';
import { TokenRequestPipe } from './token-request.pipe.js';
import { RateLimit } from '../http/rate-limit.js';

/** The three public endpoints of spec §4. */
@Public()
@Controller('oauth2')
export class AuthController {
  constructor(
    private readonly auth: AuthService,
    private readonly tokens: TokenService,
  ) {}

  /** Begin a sign-in: where to send the user (spec §4.2). */
  @Get('authorize')
  @RateLimit('authorize')
  authorize(@Query() query: AuthorizeDto): Promise<Authorization> {
    return this.auth.authorize(query);
  }

  /** Exchange an authorization code for tokens (spec §4.3); with `grant_type=refresh_token` the same as below (contract §4). */
  @Post('token')
  @RateLimit(limitOf)
  @HttpCode(200)
  token(
    @Body(TokenRequestPipe) body: TokenDto | RefreshDto,
    @Headers('user-agent') userAgent?: string,
    @Headers('dpop') header?: string,
  ): Promise<IssuedTokens | RefreshedToken> {
    const call = { header, path: '/oauth2/token' } as const;
    if (body instanceof RefreshDto) return this.tokens.refresh(body.refresh_token, call);
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
