import { OAuthParameters, RequiredText } from '../../http/parameters/parameter.js';

/** Usual ones have some 600 characters. */
const LONGEST = 8192;

/** Body of POST /providers/<name>/backchannel-logout (OpenID Connect Back-Channel Logout 1.0 §2.5). */
@OAuthParameters()
export class BackchannelLogoutDto {
  /** The provider's signed wish that sessions end. */
  @RequiredText({ max: LONGEST })
  logout_token!: string;
}
