import { OAuthParameters, OptionalText, RequiredText } from '../../../platform/http/parameters/parameter.js';

/** Query and form of the page for devices without a browser. */
@OAuthParameters()
export class UserCodeDto {
  /** As a person types it. */
  @OptionalText({ max: 255 })
  user_code?: string;
}

/** Query of the callback of the sign-in on the page. */
@OAuthParameters()
export class DeviceCallbackDto {
  @OptionalText({ max: 255 })
  code?: string;

  /** Id of the request. */
  @OptionalText({ max: 255 })
  state?: string;

  @OptionalText({ max: 255 })
  error?: string;
}

/** Form of the question. */
@OAuthParameters()
export class AnswerDto {
  /** `yes` or `no`. */
  @RequiredText({ matches: { pattern: /^(?:yes|no)$/, as: 'yes or no' } })
  answer!: 'yes' | 'no';
}
