import { Body, Controller, Get, Ip, Post, Query, Res, UseFilters } from '@nestjs/common';
import type { Response } from 'express';
import { Public } from '../../platform/http/access.js';
import { Accounts } from './accounts/accounts.js';
import { AuthorizationPageDto, SignInFormDto } from './authorize.dto.js';
import { ClientService } from './client.service.js';
import { CodeStore } from './code.store.js';
import { CsrfTokens } from './csrf-token.js';
import { loginPage, type LoginPage } from './page/login-page.js';
import { PAGE_ERROR_FILTER, sendPage } from './page/page.js';
import { PasswordCheck } from './passwords/password-check.js';
import { networkOf } from '../../platform/http/network.js';

/** Authorization page (spec §4.5.1). The form posts to its own address, with the query of the request. */
@Public()
@Controller('providers/mock/oauth2')
@UseFilters(PAGE_ERROR_FILTER)
export class AuthorizeController {
  constructor(
    private readonly client: ClientService,
    private readonly accounts: Accounts,
    private readonly csrf: CsrfTokens,
    private readonly passwords: PasswordCheck,
    private readonly codes: CodeStore,
  ) {}

  /** Show the login page, always: a site that frames it cannot get a silent approval. */
  @Get('authorize')
  show(@Query() request: AuthorizationPageDto, @Res() response: Response): void {
    this.client.checkAuthorization(request);
    this.sendForm(response, request, 200);
  }

  /** Check the password, and send the user back with a code. */
  @Post('authorize')
  async signIn(
    @Query() request: AuthorizationPageDto,
    @Body() { csrf_token = '', demo, ...form }: SignInFormDto,
    @Ip() address: string | undefined,
    @Res() response: Response,
  ): Promise<void> {
    this.client.checkAuthorization(request);
    // Empty in production and with an accounts file.
    const { login, password } = this.accounts.demo.find((account) => account.login === demo) ?? form;
    const askAgain = (status: number, message: string): void =>
      this.sendForm(response, request, status, { login, message });
    if (!this.csrf.isValid(csrf_token, request)) {
      return askAgain(403, 'This page was open for too long. Please sign in again.');
    }
    if (login === undefined || password === undefined) {
      return askAgain(422, 'Please enter your user name and your password.');
    }
    const result = await this.passwords.verify({ login, network: networkOf(address) }, password);
    if (result.kind === 'refused') {
      return askAgain(422, 'The user name or the password is not right. Please try again.');
    }
    if (result.kind === 'wait') {
      const { seconds } = result;
      response.setHeader('Retry-After', seconds);
      const unit = seconds === 1 ? 'second' : 'seconds';
      return askAgain(429, `Too many attempts. Please try again in ${seconds} ${unit}.`);
    }
    const code = await this.codes.issue({
      clientId: request.client_id,
      redirectUri: request.redirect_uri,
      codeChallenge: request.code_challenge ?? null,
      providerUserId: result.account.provider_user_id,
    });
    sendCode(response, request, code);
  }

  private sendForm(
    response: Response,
    request: AuthorizationPageDto,
    status: number,
    retry?: LoginPage['retry'],
  ): void {
    const { demo } = this.accounts;
    sendPage(response, status, loginPage({ request, csrfToken: this.csrf.make(request), retry, demo }));
  }
}

/** Redirects to `<redirect_uri>?code=<code>&state=<state>` (spec §4.5.1, 3); the URI's own query is kept. */
function sendCode(response: Response, { redirect_uri, state }: AuthorizationPageDto, code: string): void {
  const separator = redirect_uri.includes('?') ? '&' : '?';
  const query = `code=${encodeURIComponent(code)}&state=${encodeURIComponent(state)}`;
  response.removeHeader('Content-Security-Policy'); // it forbids frames, and this answer comes in a frame
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Location', redirect_uri + separator + query);
  response.status(302).end();
}
