import { OAuthParameters, Required } from '../http/parameter.js';

/** Form of POST {provider_url}/oauth2/token/exchange (spec §4.5.2). */
@OAuthParameters()
export class ExchangeDto {
  @Required({ max: 255 })
  client_id!: string;

  @Required({ max: 1024 })
  client_secret!: string;

  @Required({ max: 255 })
  code!: string;

  @Required({ max: 2048 })
  redirect_uri!: string;
}
