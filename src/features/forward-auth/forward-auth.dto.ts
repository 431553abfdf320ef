import { KnownOnly, OptionalText, OptionalTexts } from '../../platform/http/parameters/parameter.js';

const A_NAME = { pattern: /\S/, as: 'a name' };

/** Query of GET /forward-auth: what the user needs. Without parameters, any signed-in user passes. */
@KnownOnly()
export class ForwardAuthDto {
  /** The user needs this role. Of several, one is enough. */
  @OptionalTexts({ matches: A_NAME })
  role?: string | string[];

  /** The user needs this group. Of several, one is enough. */
  @OptionalTexts({ matches: A_NAME })
  group?: string | string[];

  /** Seconds since the user authenticated at the provider, at most; 60 more count as equal (RFC 9470). */
  @OptionalText({ matches: { pattern: /^\d{1,9}$/, as: 'a number of seconds' } })
  max_age?: string;

  /**
   * Class of the authentication, as the provider names it. Of several, separated by spaces, one is enough.
   */
  @OptionalText({
    max: 1024,
    // Characters of a value in a list with spaces, in quotes (RFC 6749 §3.3).
    matches: { pattern: /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/, as: 'a class of authentication, or several' },
  })
  acr?: string;

  /** The token is for this API, one of `protected_resources` in the metadata: a program acts for the user. */
  @OptionalText({ max: 2048 })
  resource?: string;

  /** With `resource`: the program needs this scope. Several, separated by spaces, must all hold. */
  @OptionalText({
    max: 1024,
    matches: { pattern: /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/, as: 'a scope, or several' },
  })
  scope?: string;

  /** `1`: the header `X-Latchkey-Claims` has the claims that no other header has. */
  @OptionalText({ matches: { pattern: /^1$/, as: '1' } })
  claims?: string;
}
