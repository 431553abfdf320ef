import { OAuthParameters, OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { UUID } from '../../http/parameters/uuid.js';

/** Body of POST /oauth2/token with a code of our own (RFC 6749 §4.1.3; contract §4). */
@OAuthParameters()
export class ClientTokenDto {
  /** As the callback of the client received it. */
  @RequiredText({ max: 16_384 })
  code!: string;

  /** As in the authorization request. */
  @RequiredText()
  redirect_uri!: string;

  /** What the challenge was made from (RFC 7636 §4.1). */
  @RequiredText({ matches: { pattern: /^[A-Za-z0-9._~-]{43,128}$/, as: '43 to 128 unreserved characters' } })
  code_verifier!: string;

  /** As in the authorization request, where it is given. */
  @OptionalText({ max: 255 })
  client_id?: string;

  /** UUID that the client made up for its device. */
  @OptionalText({ matches: { pattern: UUID, as: 'a UUID' } })
  device_id?: string;

  /** Display name of the device. */
  @OptionalText({ max: 128 })
  device_name?: string;

  /** Defaults to the request's User-Agent header. */
  @OptionalText({ max: 1024 })
  user_agent?: string;
}
