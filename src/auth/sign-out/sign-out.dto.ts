import { OptionalObject, OptionalText, RequiredText } from '../../http/parameters/parameter.js';
import { isRedirectUri } from '../../config/urls/urls.js';

/** Answer of POST /sign-out, where the provider has a page for it. */
export class SignedOut {
  /** Where the browser ends the session with the provider as well. */
  redirect_url!: string;
}

/** To sign out at the provider as well (contract §4). */
export class ProviderLogoutDto {
  /**
   * Where the provider sends the browser afterwards. It goes to the caller only, who may send their browser wherever they
   * like, so it is on no list of ours; the provider has its own.
   */
  @RequiredText({
    max: 2048,
    matches: {
      pattern: { test: isRedirectUri },
      as: 'an absolute http(s) URL, or a URI of a private scheme',
    },
  })
  redirect_uri!: string;
}

/** Body of POST /sign-out; may be left out. */
export class SignOutDto {
  @OptionalText({ matches: { pattern: /^(current|others|all)$/, as: 'current, others or all' } })
  scope?: 'current' | 'others' | 'all';

  @OptionalObject(ProviderLogoutDto)
  provider_logout?: ProviderLogoutDto;
}
