import { OAuthParameters, OptionalText, RequiredText } from '../../http/parameters/parameter.js';

/**
 * Query of GET /oauth2/authorize from a stock OAuth client (RFC 6749 §4.1.1; contract §4). Errors found by these rules are shown
 * in the browser; ClientAuthorization validates the rest and can send errors to the client.
 */
@OAuthParameters()
export class ClientAuthorizeDto {
  /** `code`. Any value selects this flow. */
  @RequiredText()
  response_type!: string;

  /** What the client calls itself; nobody is registered. */
  @RequiredText({ max: 255 })
  client_id!: string;

  /** Where the browser goes in the end; on the list REDIRECT_URIS. */
  @RequiredText()
  redirect_uri!: string;

  /** `query`, or left out: the answer is in the query of the redirect URI. */
  @OptionalText()
  response_mode?: string;

  /** Comes back untouched. */
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
}
