import { ProviderParamsDto } from '../../../auth/provider-params.dto.js';
import {
  OAuthParameters,
  OptionalText,
  OptionalTexts,
  RequiredText,
} from '../../../platform/http/parameters/parameter.js';

const AN_ID = { max: 255 };

/** Query of GET /oauth2/authorize of a program, or of another client with `resource`. */
@OAuthParameters()
export class AgentAuthorizeDto extends ProviderParamsDto {
  @OptionalText()
  response_type?: string;

  /** Of another client with `resource` it may be left out. */
  @OptionalText({ max: 2048 })
  client_id?: string;

  @RequiredText({ max: 2048 })
  redirect_uri!: string;

  @OptionalText()
  response_mode?: string;

  @OptionalText({ matches: { pattern: /^[\x20-\x7e]{1,2048}$/, as: 'at most 2048 printable characters' } })
  state?: string;

  @OptionalText()
  code_challenge?: string;

  @OptionalText()
  code_challenge_method?: string;

  /** Several are an error that the program gets (RFC 8707 §2). */
  @OptionalTexts({ max: 2048 })
  resource?: string | string[];

  @OptionalText({ max: 2048 })
  scope?: string;

  @OptionalText()
  provider?: string;
}

/** Query of the callback of the sign-in. */
@OAuthParameters()
export class AgentCallbackDto {
  @OptionalText(AN_ID)
  code?: string;

  /** Id of the request. */
  @RequiredText(AN_ID)
  state!: string;

  @OptionalText(AN_ID)
  error?: string;
}

/** Query of the question. */
@OAuthParameters()
export class ConsentDto {
  /** Id of the request. */
  @RequiredText(AN_ID)
  request!: string;
}

/** Form of the answer. */
@OAuthParameters()
export class ConsentAnswerDto extends ConsentDto {
  /** User whom the page has named. */
  @RequiredText(AN_ID)
  user!: string;

  @RequiredText({ matches: { pattern: /^(?:yes|no)$/, as: 'yes or no' } })
  answer!: 'yes' | 'no';

  /** The ticks. */
  @OptionalTexts({ max: 100 })
  scope?: string | string[];
}
