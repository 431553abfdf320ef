import { Body, Controller, Get, Ip, Post, Query, Res, UseFilters } from '@nestjs/common';
import type { Response } from 'express';
import { Public } from '../token/guard/access.js';
import { Accounts } from './accounts/accounts.js';
import { AuthorizationPageDto } from './authorization-page.dto.js';
import { ClientService } from './client.service.js';
import { CodeStore } from './code.store.js';
import { CsrfTokens } from './csrf-token.js';
import { loginPage } from './page/login-page.js';
import { sendPage } from './page/send-page.js';
import { sendRedirect } from './page/send-redirect.js';
import { PageErrorFilter } from './page-error.filter.js';
import { PasswordCheck } from './passwords/password-check.js';
import { SignInFormDto } from './sign-in-form.dto.js';
import { networkOf } from '../http/network.js';

/** Why the form is shown again. */
interface Retry {
  readonly status: number;
  readonly login?: string | undefined;
  readonly message: string;
}

/**
 * The sample provider's authorization page (spec §4.5.1). The form posts to its own address, so the query of the
 * authorization request is checked in the same way before the page is shown and before a code is issued.
 */
@Public()
@Controller('providers/mock/oauth2')
@UseFilters(PageErrorFilter)
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
    this.sendForm(response, request);
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
    // In production, and with an accounts file, there is none.
    const { login, password } = this.accounts.demo.find((account) => account.login === demo) ?? form;
    if (!this.csrf.isValid(csrf_token, request)) {
      const message = 'This page was open for too long. Please sign in again.';
      return this.sendForm(response, request, { status: 403, login, message });
    }
    if (login === undefined || password === undefined) {
      const message = 'Please enter your user name and your password.';
      return this.sendForm(response, request, { status: 422, login, message });
    }
    const result = await this.passwords.verify({ login, network: networkOf(address) }, password);
    if (result.kind === 'refused') {
      const message = 'The user name or the password is not right. Please try again.';
      return this.sendForm(response, request, { status: 422, login, message });
    }
    if (result.kind === 'wait') {
      const { seconds } = result;
      response.setHeader('Retry-After', seconds);
      const message = `Too many attempts. Please try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
      return this.sendForm(response, request, { status: 429, login, message });
    }
    const code = await this.codes.issue({
      clientId: request.client_id,
      redirectUri: request.redirect_uri,
      providerUserId: result.account.provider_user_id,
    });
    sendRedirect(response, request.redirect_uri, { code, state: request.state });
  }

  private sendForm(response: Response, request: AuthorizationPageDto, retry?: Retry): void {
    const { demo } = this.accounts;
    sendPage(
      response,
      retry?.status ?? 200,
      loginPage({ request, csrfToken: this.csrf.make(request), retry, demo }),
    );
  }
}
