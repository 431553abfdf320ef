import { OAuthParameters, OptionalText, RequiredText } from '../http/parameters/parameter.js';
import { UUID } from '../http/parameters/uuid.js';
import { STATE } from './states/state.service.js';

/** Body of POST /oauth2/token (spec §4.3). */
@OAuthParameters()
export class TokenDto {
  /** Authorization code from the callback's query. */
  @RequiredText({ max: 16_384 })
  code!: string;

  /** State of the authorization request: 64 hex characters, used once. */
  @RequiredText({ matches: { pattern: STATE, as: '64 hex characters' } })
  state!: string;

  /** Callback URL, as in the authorization request. */
  @OptionalText()
  redirect_uri?: string;

  /** PKCE verifier, required when the authorization request carried a code_challenge (RFC 7636 §4.1). */
  @OptionalText({ matches: { pattern: /^[A-Za-z0-9._~-]{43,128}$/, as: '43 to 128 unreserved characters' } })
  code_verifier?: string;

  /** `iss` of the callback's query, where the provider sent one (RFC 9207). */
  @OptionalText({ max: 2048 })
  iss?: string;

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

/** Body of POST /oauth2/refresh (spec §4.4). */
@OAuthParameters()
export class RefreshDto {
  /** The refresh token; stays valid. */
  @RequiredText()
  refresh_token!: string;
}

/** Answer of POST /oauth2/token (spec §4.3). */
export class IssuedTokens {
  /** A JWT. */
  access_token!: string;

  token_type!: 'Bearer';

  /** Told only here; reusable until it expires. */
  refresh_token!: string;

  /** Lifetime of the access token, in seconds. */
  expires_in!: number;

  /** The user: a UUID. */
  user_id!: string;
}
