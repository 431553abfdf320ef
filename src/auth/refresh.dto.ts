import { OAuthParameters, Required } from '../http/parameter.js';

/** Body of POST /oauth2/refresh (spec §4.4). */
@OAuthParameters()
export class RefreshDto {
  /** The refresh token; stays valid. */
  @Required()
  refresh_token!: string;
}
