import { Body, Controller, Get, HttpCode, Inject, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import { ClientErrorFilter } from '../../../auth/clients/client-error.filter.js';
import { refuseHead } from '../../../auth/clients/send-next.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { renderPage, type Page } from '../../../platform/http/page/layout.js';
import { requireOwnForm } from '../../../platform/http/page/question.js';
import { RateLimit } from '../../../platform/http/rate-limit.js';
import { Public } from '../../../platform/http/access.js';
import { DeviceCodes, readUserCode, UserCodes } from '../requests/codes.js';
import { readSecret, requestIdOf, setSecret } from './device-cookie.js';
import { AnswerDto, DeviceCallbackDto, UserCodeDto } from './device-page.dto.js';
import { DevicePage } from './device-page.service.js';
import { codePage, endPage, goOnPage, questionPage, chooseLanguage } from './device-pages.js';

/** The page for devices without a browser (docs/device-sign-in.md#on-the-page). */
@Public()
@Controller('device')
@UseFilters(new ClientErrorFilter(() => true))
export class DevicePageController {
  constructor(
    private readonly page: DevicePage,
    private readonly userCodes: UserCodes,
    private readonly codes: DeviceCodes,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Show the form for a code, which `user_code` fills in. @internal */
  @Get()
  show(@Query() { user_code = '' }: UserCodeDto, @Req() request: Request, @Res() response: Response): void {
    send(response, codePage(chooseLanguage(request), readUserCode(user_code)));
  }

  /** Look a code up, and send the browser to the sign-in. @internal */
  @Post()
  @RateLimit('token')
  async enter(
    @Body() { user_code = '' }: UserCodeDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    requireOwnForm(request, this.settings.publicUrl);
    const language = chooseLanguage(request);
    try {
      const found = await this.userCodes.find(user_code, request.ip);
      if (!found) return send(response, codePage(language, readUserCode(user_code), 'wrongCode'), 422);
      const secret = this.page.begin(found);
      const address = this.page.addressOf(secret);
      setSecret(response, this.settings.publicUrl, secret);
      // Not by a redirect: after a form, Chromium applies `form-action` to it.
      response.setHeader('Refresh', `0; url=${address}`);
      send(response, goOnPage(language, address));
    } catch (error) {
      if (!(error instanceof OAuthError) || error.error !== 'slow_down') throw error;
      send(response, codePage(language, readUserCode(user_code), 'tooMany'), 429);
    }
  }

  /** Receive the callback of the sign-in on the page. @internal */
  @Get('callback')
  @RateLimit('token')
  async finish(
    @Query() { code, state, error }: DeviceCallbackDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    refuseHead(request);
    const language = chooseLanguage(request);
    const secret = readSecret(request, this.settings.publicUrl);
    if (error !== undefined) {
      const isOurs = secret !== undefined && requestIdOf(secret) === state;
      const other = isOurs ? this.page.addressOf(secret, 'select_account') : undefined;
      const problem = error === 'access_denied' ? 'notAllowed' : 'failed';
      return send(response, codePage(language, undefined, problem, other), 400);
    }
    if (code === undefined || secret === undefined) {
      throw new OAuthError('invalid_grant', 'the sign-in was begun in another browser');
    }
    await this.page.finish(code, secret);
    response.redirect(303, '/device/confirm');
  }

  /** Show the question. @internal */
  @Get('confirm')
  async ask(@Req() request: Request, @Res() response: Response): Promise<void> {
    const language = chooseLanguage(request);
    const secret = readSecret(request, this.settings.publicUrl);
    const question = secret === undefined ? undefined : await this.page.findQuestion(secret);
    if (secret === undefined || !question) return send(response, endPage(language, 'over'), 400);
    const other = this.page.addressOf(secret, 'select_account');
    if (this.page.isOfAnother(question)) {
      return send(response, codePage(language, undefined, 'otherAccount', other), 403);
    }
    const { username, email, providerUserId } = question.verified.identity;
    const isForeign = !this.codes.hashNetwork(request.ip).equals(question.request.network);
    const account = email ?? username ?? providerUserId;
    const facts = { account, other, isForeign, now: this.clock.now() };
    send(response, questionPage(language, question.request, facts));
  }

  /** Receive the answer. @internal */
  @Post('confirm')
  @HttpCode(200)
  async answer(
    @Body() { answer }: AnswerDto,
    @Req() request: Request,
    @Res() response: Response,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    requireOwnForm(request, this.settings.publicUrl);
    const language = chooseLanguage(request);
    const secret = readSecret(request, this.settings.publicUrl);
    const counts = secret !== undefined && (await this.page.answer(secret, answer === 'yes', origin));
    setSecret(response, this.settings.publicUrl, undefined);
    if (!counts) return send(response, endPage(language, 'over'), 400);
    send(response, endPage(language, answer === 'yes' ? 'approved' : 'denied'));
  }
}

/** Never framed, so that no site can lead a click to an answer (RFC 10027). */
function send(response: Response, page: Page, status = 200): void {
  const text = renderPage(response, page, "form-action 'self'", "frame-ancestors 'none'");
  response.status(status).send(text);
}
