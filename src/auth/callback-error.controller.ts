import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { type Origin, RequestOrigin } from '../audit/audit-event.js';
import { AuditRefusals } from '../audit/audit-refusals.js';
import { OAuthParameters, OptionalText, RequiredText } from '../platform/http/parameters/parameter.js';
import { RateLimit } from '../platform/http/rate-limit.js';
import { isProviderCode } from '../provider/errors/callback-codes.js';
import { maskedText } from '../provider/errors/log-line.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import { Public } from '../platform/http/access.js';
import { STATE, StateService } from './states/state.service.js';

/** Characters of an error code in the audit trail; the codes of RFC 6749 and OpenID Connect are shorter. */
const MAX_CODE = 64;
const MAX_REASON = 512;

/** Body of POST /oauth2/callback-error: the parameters of the callback (RFC 6749 §4.1.2.1). */
@OAuthParameters()
export class CallbackErrorDto {
  /** State of the authorization request. */
  @RequiredText({ matches: { pattern: STATE, as: '64 hex characters' } })
  state!: string;

  /** `error` of the callback; `cancelled` if the user closed the dialog. */
  @RequiredText()
  error!: string;

  /** `error_description` of the callback. */
  @OptionalText()
  error_description?: string;
}

/** Sign-ins that end at the client, so the service would not notice them (docs/endpoints.md#signing-in). */
@Public()
@Controller('oauth2')
export class CallbackErrorController {
  constructor(
    private readonly states: StateService,
    private readonly providers: ProviderRegistry,
    private readonly audit: AuditRefusals,
  ) {}

  /**
   * Report that a sign-in failed at the provider
   *
   * For a client whose callback has an `error`, or whose user closed the dialog (`error=cancelled`). The
   * `state` is used up, and the failure is recorded. An unknown state gets the same answer, and nothing is
   * recorded.
   *
   * @returns {204} Noted.
   */
  @Post('callback-error')
  @RateLimit('token')
  @HttpCode(204)
  async callbackError(
    @Body() { state, error, error_description: description }: CallbackErrorDto,
    @RequestOrigin() origin: Origin,
  ): Promise<void> {
    const signIn = await this.states.spend(state);
    if (!signIn) return;
    const { provider } = signIn;
    const code = maskedText(error, [state], MAX_CODE) || 'unknown';
    const reason = maskedText(description, [state], MAX_REASON) || undefined;
    this.audit.refused({ event: 'sign_in_refused', error: code, reason, provider, origin });
    if (code === 'cancelled' || isProviderCode(code)) return; // no setting is to blame
    this.providers.find(provider)?.warnOfCallback(error, description, [state]);
  }
}
