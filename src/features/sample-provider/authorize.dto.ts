import { OAuthParameters, OptionalText, RequiredText } from '../../platform/http/parameters/parameter.js';

/** Query of the sample provider's authorization page (spec §4.5.1). */
@OAuthParameters()
export class AuthorizationPageDto {
  @RequiredText({ max: 255 })
  client_id!: string;

  @RequiredText({ max: 2048 })
  redirect_uri!: string;

  /** Echoed unchanged. U+FFFD stands for bytes that are not UTF-8, which could not be echoed. */
  @RequiredText({ max: 1024, matches: { pattern: /^[^\uFFFD]*$/, as: 'valid UTF-8' } })
  state!: string;

  /** S256 (RFC 7636 §4.3), with code_challenge_method. */
  @OptionalText({ matches: { pattern: /^[A-Za-z0-9_-]{43}$/, as: 'the base64url of a SHA-256 hash' } })
  code_challenge?: string;

  @OptionalText({ matches: { pattern: /^S256$/, as: 'S256' } })
  code_challenge_method?: string;
}

@OAuthParameters()
export class SignInFormDto {
  @OptionalText({ max: 255 })
  csrf_token?: string;

  @OptionalText({ max: 255 })
  login?: string;

  @OptionalText({ max: 1024 })
  password?: string;

  /** Login of a demo account; replaces `login` and `password`. */
  @OptionalText({ max: 255 })
  demo?: string;
}
