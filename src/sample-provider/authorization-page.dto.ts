import { OAuthParameters, RequiredText } from '../http/parameters/parameter.js';

/** Query of the sample provider's authorization page (spec §4.5.1). */
@OAuthParameters()
export class AuthorizationPageDto {
  @RequiredText({ max: 255 })
  client_id!: string;

  @RequiredText({ max: 2048 })
  redirect_uri!: string;

  /** Echoed unchanged. U+FFFD stands for bytes that were not UTF-8: those could not be echoed. */
  @RequiredText({ max: 1024, matches: { pattern: /^[^\uFFFD]*$/, as: 'valid UTF-8' } })
  state!: string;
}
