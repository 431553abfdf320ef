import {
  OAuthParameters,
  OptionalText,
  RequiredText,
  UncheckedInteger,
} from '../platform/http/parameters/parameter.js';
import { OWN_UUID } from '../platform/http/parameters/uuid.js';
import { MOST_IDLE } from '../token/refresh/refresh.service.js';
import { RefreshedToken } from '../token/refresh/refresh.dto.js';
import { STATE } from './states/state.service.js';

const CODE_VERIFIER = { pattern: /^[A-Za-z0-9._~-]{43,128}$/, as: '43 to 128 unreserved characters' };

/** Device of a sign-in (spec §2.4). */
export class DeviceDto {
  /** UUID that the client generated for its device. */
  @OptionalText(OWN_UUID)
  device_id?: string;

  /** Display name of the device. */
  @OptionalText({ max: 128 })
  device_name?: string;

  /** Defaults to the request's User-Agent header. */
  @OptionalText({ max: 1024 })
  user_agent?: string;
}

/** Body of POST /oauth2/token (spec §4.3). */
@OAuthParameters()
export class TokenDto extends DeviceDto {
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
  @OptionalText({ matches: CODE_VERIFIER })
  code_verifier?: string;

  /** `iss` of the callback's query, if the provider sent one (RFC 9207). */
  @OptionalText({ max: 2048 })
  iss?: string;
}

/** Body of POST /oauth2/token with a code of the service (RFC 6749 §4.1.3). */
@OAuthParameters()
export class ClientTokenDto extends DeviceDto {
  /** As the callback of the client received it. */
  @RequiredText({ max: 16_384 })
  code!: string;

  /** As in the authorization request. */
  @RequiredText()
  redirect_uri!: string;

  /** PKCE verifier (RFC 7636 §4.1). */
  @RequiredText({ matches: CODE_VERIFIER })
  code_verifier!: string;

  /** As in the authorization request, if given. */
  @OptionalText({ max: 255 })
  client_id?: string;
}

/** Body of POST /oauth2/refresh (spec §4.4). */
@OAuthParameters()
export class RefreshDto {
  /** The refresh token; stays valid. */
  @RequiredText()
  refresh_token!: string;

  /** Whole seconds since the person last acted, 0 to 2147483647; it counts if `SESSION_IDLE_TTL` is set. */
  @UncheckedInteger({ max: MOST_IDLE })
  idle_for?: unknown;
}

/** Answer of POST /oauth2/token (spec §4.3). */
export class IssuedTokens extends RefreshedToken {
  /** Only in this answer; reusable until it expires. */
  refresh_token!: string;

  /** The user: a UUID. */
  user_id!: string;
}

/** Answer of POST /oauth2/token to a program that acts for a user. */
export class DelegatedTokens extends RefreshedToken {
  /** Only with a code; reusable until it expires. */
  refresh_token?: string;

  /** What the access token is good for at its API, separated by spaces. */
  scope!: string;
}
