import { OAuthParameters, OptionalText, RequiredText } from '../../platform/http/parameters/parameter.js';
import { ProviderParamsDto } from '../provider-params.dto.js';
import { STATE } from '../states/state.service.js';

/** Distinguishes codes of the service from a provider's at POST /oauth2/token. */
export const CODE_PREFIX = 'lkc_';

/**
 * Query of GET /oauth2/authorize from a stock OAuth client (RFC 6749 §4.1.1). Errors found by these rules are
 * shown in the browser; ClientSignIns validates the rest and can send errors to the client.
 */
@OAuthParameters()
export class ClientAuthorizeDto extends ProviderParamsDto {
  /** `code`. Any value selects this flow. */
  @RequiredText()
  response_type!: string;

  /** Name of the client; clients are not registered. */
  @RequiredText({ max: 255 })
  client_id!: string;

  /** Callback of the client; on the list REDIRECT_URIS. */
  @RequiredText()
  redirect_uri!: string;

  /** `query`, or left out: the answer is in the query of the redirect URI. */
  @OptionalText()
  response_mode?: string;

  /** Returned unchanged. */
  @OptionalText({ matches: { pattern: /^[\x20-\x7e]{1,2048}$/, as: 'at most 2048 printable characters' } })
  state?: string;

  /** SHA-256 of the client's code_verifier, in base64url (RFC 7636 §4.2). Required. */
  @OptionalText()
  code_challenge?: string;

  /** `S256`. Required. */
  @OptionalText()
  code_challenge_method?: string;

  /** Name of the configured provider; left out: the only one, or the user chooses. */
  @OptionalText()
  provider?: string;

  /** E-mail address of the user: without `provider`, its domain chooses one, if providers serve domains. */
  @OptionalText({ max: 320 })
  email?: string;
}

/** Query of GET /providers/<name>/callback: what a provider sends the browser back with (RFC 6749 §4.1.2). */
@OAuthParameters()
export class ClientCallbackDto {
  @RequiredText({ matches: { pattern: STATE, as: '64 hex characters' } })
  state!: string;

  @OptionalText({ max: 16_384 })
  code?: string;

  /** What providers of another kind call their code (CAS). */
  @OptionalText({ max: 16_384 })
  ticket?: string;

  /** The provider, in its own words (RFC 9207). */
  @OptionalText({ max: 2048 })
  iss?: string;

  /** Why there is no code (RFC 6749 §4.1.2.1). */
  @OptionalText()
  error?: string;

  /** Logged, never sent on. */
  @OptionalText()
  error_description?: string;
}
