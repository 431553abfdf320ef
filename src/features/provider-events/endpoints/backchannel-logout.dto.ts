import { OAuthParameters, RequiredText } from '../../../platform/http/parameters/parameter.js';

/** Body of POST /providers/<name>/backchannel-logout (OpenID Connect Back-Channel Logout 1.0 §2.5). */
@OAuthParameters()
export class BackchannelLogoutDto {
  /** The provider's signed request to end sessions. */
  @RequiredText({ max: 8192 })
  logout_token!: string;
}
