import { OAuthParameters, RequiredText } from '../http/parameters/parameter.js';

/** Form of POST {provider_url}/oauth2/token/exchange (spec §4.5.2). */
@OAuthParameters()
export class ExchangeDto {
  @RequiredText({ max: 255 })
  client_id!: string;

  @RequiredText({ max: 1024 })
  client_secret!: string;

  /** The service's own limit (contract §3), so that a long unknown code is `invalid_grant`. */
  @RequiredText({ max: 16_384 })
  code!: string;

  @RequiredText({ max: 2048 })
  redirect_uri!: string;
}
