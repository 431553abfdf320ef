import { OAuthParameters, OptionalText, RequiredText } from '../http/parameter.js';

/** Query of GET /oauth2/authorize (spec §4.2). */
@OAuthParameters()
export class AuthorizeDto {
  /** Name of the configured provider. Only with `response_type` it may be left out. */
  @RequiredText()
  provider!: string;

  /** Callback URL after authorization; on the allow-list. */
  @OptionalText()
  redirect_uri?: string;

  /** SHA-256 of the client's code_verifier, in base64url (RFC 7636 §4.2). */
  @OptionalText({ matches: { pattern: /^[A-Za-z0-9_-]{43}$/, as: 'the base64url of a SHA-256 hash' } })
  code_challenge?: string;

  /** `S256`, with code_challenge. */
  @OptionalText({ matches: { pattern: /^S256$/, as: 'S256' } })
  code_challenge_method?: string;
}
