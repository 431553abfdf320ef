import { Body, Controller, HttpCode, Post, UseFilters } from '@nestjs/common';
import { ERROR_STATUS, OAuthError } from '../../platform/errors/oauth-error.js';
import { OAuthErrorFilter } from '../../platform/http/errors/oauth-error.filter.js';
import { OAuthParameters, OptionalText, RequiredText } from '../../platform/http/parameters/parameter.js';
import { Public } from '../../platform/http/access.js';
import { Accounts } from './accounts/accounts.js';
import { ClientService } from './client.service.js';
import { CodeStore } from './code.store.js';

/** Spec §7.3: two statuses differ from the service's own (§7.2). */
const EXCHANGE_STATUS = { ...ERROR_STATUS, invalid_grant: 400, invalid_client: 401 };

/** Form of POST {provider_url}/oauth2/token/exchange (spec §4.5.2). */
@OAuthParameters()
class ExchangeDto {
  @RequiredText({ max: 255 })
  client_id!: string;

  @RequiredText({ max: 1024 })
  client_secret!: string;

  /** The service's own limit, so that a long unknown code is `invalid_grant`. */
  @RequiredText({ max: 16_384 })
  code!: string;

  @RequiredText({ max: 2048 })
  redirect_uri!: string;

  /** Required if the authorization request had a code_challenge (RFC 7636 §4.5). */
  @OptionalText({ max: 128 })
  code_verifier?: string;
}

/** The sample provider's server-to-server side (spec §4.5.2). */
@Public()
@Controller('providers/mock/oauth2/token')
@UseFilters(new OAuthErrorFilter(EXCHANGE_STATUS))
export class ExchangeController {
  constructor(
    private readonly client: ClientService,
    private readonly codes: CodeStore,
    private readonly accounts: Accounts,
  ) {}

  /** Redeem a code for the user's identity. Only a client that has proved itself can spend a code. */
  @Post('exchange')
  @HttpCode(200)
  async exchange(@Body() form: ExchangeDto) {
    this.client.authenticate(form.client_id, form.client_secret);
    const redeemed = await this.codes.redeem(form.code, {
      clientId: form.client_id,
      redirectUri: form.redirect_uri,
      codeVerifier: form.code_verifier,
    });
    const account = redeemed && this.accounts.withId(redeemed.providerUserId);
    if (!account) throw new OAuthError('invalid_grant', 'the code is invalid, already used, or expired');
    // The fields of spec §2.5, roles, and the time of the login (docs/guides/step-up.md).
    const { provider_user_id, username, email, avatar_url, roles } = account;
    const profile = { provider_user_id, username, email, avatar_url, ...(roles && { claims: { roles } }) };
    return { ...profile, auth_time: redeemed.authTime };
  }
}
