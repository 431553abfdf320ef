import { OAuthParameters, RequiredText } from '../http/parameter.js';

/** Body of POST /oauth2/refresh (spec §4.4). */
@OAuthParameters()
export class RefreshDto {
  /** The refresh token; stays valid. */
  @RequiredText()
  refresh_token!: string;
}
