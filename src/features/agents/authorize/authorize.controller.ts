import { Body, Controller, Get, Inject, Post, Query, Req, Res, UseFilters } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AuditRefusals } from '../../../audit/audit-refusals.js';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import { ClientErrorFilter } from '../../../auth/clients/client-error.filter.js';
import { ErrorForClient } from '../../../auth/clients/client-request.js';
import { refuseHead, UNFRAMED } from '../../../auth/clients/send-next.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Public } from '../../../platform/http/access.js';
import { renderPage, type Page } from '../../../platform/http/page/layout.js';
import { requireOwnForm } from '../../../platform/http/page/question.js';
import { RateLimit } from '../../../platform/http/rate-limit.js';
import { AgentClients } from '../clients/agent-clients.js';
import { AgentAuthorizations } from './authorize.service.js';
import { AgentAuthorizeDto, AgentCallbackDto, ConsentAnswerDto, ConsentDto } from './authorize.dto.js';
import { BrowserSecret } from './browser-cookie.js';
import { chooseLanguage, endPage, leavePage, questionPage, untrustedPage } from './consent-pages.js';
import { Consents } from './consents.service.js';

/** The pages of a program's authorization (docs/agents.md#the-question). */
@Public()
@Controller('agents')
@UseFilters(new ClientErrorFilter(() => true))
export class AgentAuthorizeController {
  constructor(
    private readonly clients: AgentClients,
    private readonly authorizations: AgentAuthorizations,
    private readonly consents: Consents,
    private readonly refusals: AuditRefusals,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Begin the authorization of a program: its `GET /oauth2/authorize` (AgentRoutes). @internal */
  @Get('authorize')
  @RateLimit('authorize')
  async authorize(
    @Query() query: AgentAuthorizeDto,
    @Req() request: Request,
    @Res() response: Response,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    refuseHead(request);
    const { client_id: clientId = '' } = query;
    try {
      if (this.clients.isAgent(clientId) && !this.clients.isAccepted(clientId)) {
        this.refused('invalid_client', `not trusted: ${clientId}`, origin);
        const page = untrustedPage(chooseLanguage(request), new URL(clientId).host);
        response.status(400).send(renderPage(response, page, ...UNFRAMED));
        return;
      }
      const browser = BrowserSecret.keep(request, response, this.settings.publicUrl);
      const address = await this.authorizations.begin(query, browser);
      response.status(302).setHeader('Location', address).end();
    } catch (error) {
      if (error instanceof OAuthError || error instanceof ErrorForClient) {
        this.refused(error.error, `${clientId}: ${error.reason ?? ''}`, origin);
      }
      throw error;
    }
  }

  /** Receive the callback of the sign-in. @internal */
  @Get('callback')
  @RateLimit('token')
  async finish(
    @Query() { code, state, error }: AgentCallbackDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    refuseHead(request);
    const browser = BrowserSecret.read(request, this.settings.publicUrl);
    const isFinished = browser && (await this.consents.finish(state, browser, { code, error }));
    if (!isFinished) return this.send(response, endPage(chooseLanguage(request), 'over'), 400);
    response.redirect(303, `/agents/consent?request=${encodeURIComponent(state)}`);
  }

  /** Show the question. @internal */
  @Get('consent')
  async ask(
    @Query() { request: id }: ConsentDto,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const language = chooseLanguage(request);
    const browser = BrowserSecret.read(request, this.settings.publicUrl);
    const question = browser && (await this.consents.findQuestion(id, browser));
    if (!question) return this.send(response, endPage(language, 'over'), 400);
    this.send(response, questionPage(language, question));
  }

  /** Receive the answer. @internal */
  @Post('consent')
  async answer(
    @Body() { request: id, user, answer, scope }: ConsentAnswerDto,
    @Req() request: Request,
    @Res() response: Response,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    requireOwnForm(request, this.settings.publicUrl);
    const language = chooseLanguage(request);
    const browser = BrowserSecret.read(request, this.settings.publicUrl);
    const ticks = answer === 'yes' ? [scope ?? []].flat() : [];
    const result = browser && (await this.consents.answer(id, browser, { user, ticks, origin }));
    if (!result) return this.send(response, endPage(language, 'over'), 400);
    // Not by a redirect: after a form, Chromium applies `form-action` to it.
    response.setHeader('Refresh', `0; url=${result.address}`);
    this.send(response, leavePage(language, result));
  }

  private refused(
    error: ErrorForClient['error'] | OAuthError['error'],
    reason: string,
    origin: Origin,
  ): void {
    this.refusals.refused({ event: 'agent_refused', error, reason, origin });
  }

  /** Never framed, so that no site can lead a click to an answer (RFC 9700 §4.16). */
  private send(response: Response, page: Page, status = 200): void {
    response.status(status).send(renderPage(response, page, "form-action 'self'", "frame-ancestors 'none'"));
  }
}
