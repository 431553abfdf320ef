import { Injectable, type Type } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { BodyReader, UnreadBody } from '../http/parameters/body.js';
import { bodyLimitsOf, OAuthParameters, OptionalText, RequiredText } from '../http/parameters/parameter.js';
import { ParametersPipe } from '../http/parameters/parameters.pipe.js';
import { A_UUID } from '../http/parameters/uuid.js';
import type { LimitByBody } from '../http/rate-limit.js';
import { RefreshedToken } from '../token/refresh/refresh.dto.js';
import { CODE_PREFIX } from './clients/clients.dto.js';
import { STATE } from './states/state.service.js';

const CODE_VERIFIER = { pattern: /^[A-Za-z0-9._~-]{43,128}$/, as: '43 to 128 unreserved characters' };

/** Device of a sign-in (spec §2.4). */
export class DeviceDto {
  /** UUID that the client generated for its device. */
  @OptionalText(A_UUID)
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
}

/** Answer of POST /oauth2/token (spec §4.3). */
export class IssuedTokens extends RefreshedToken {
  /** Only in this answer; reusable until it expires. */
  refresh_token!: string;

  /** The user: a UUID. */
  user_id!: string;
}

/** Grant of POST /oauth2/token; `own_code`: an authorization code that the service issued. */
type Grant = 'authorization_code' | 'own_code' | 'refresh_token';

/**
 * `code` and `state` mean the grant of the specification (spec §4.3); otherwise `grant_type` decides. A
 * provider may be another Latchkey: a code with our prefix and a state in our format is the provider's. Some
 * clients send another state.
 * @param body parsed, not validated
 * @throws OAuthError `unsupported_grant_type`, or `invalid_request` if it is not text
 */
export function grantOf(body: unknown): Grant {
  const { code, state, grant_type: grantType } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const isOwn = typeof code === 'string' && code.startsWith(CODE_PREFIX) && !mayBeOurs(state);
  if (!isOwn && !isEmpty(code) && !isEmpty(state)) return 'authorization_code';
  if (isEmpty(grantType) || grantType === 'authorization_code')
    return isOwn ? 'own_code' : 'authorization_code';
  if (grantType === 'refresh_token') return grantType;
  if (typeof grantType !== 'string') throw new OAuthError('invalid_request', 'grant_type must be given once');
  throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
}

/** A state that is not text is rejected later. */
function mayBeOurs(state: unknown): boolean {
  return !isEmpty(state) && (typeof state !== 'string' || STATE.test(state));
}

/** Treated as omitted, as an optional parameter is (docs/endpoints.md#rules-for-all-calls). */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** Returns the limit of a grant, so that a refresh counts as one at either endpoint (docs/settings.md#proxy-and-rate-limits). */
export function limitOf(body: unknown): 'token' | 'refresh' {
  try {
    return grantOf(body) === 'refresh_token' ? 'refresh' : 'token';
  } catch {
    return 'token'; // the pipe rejects it
  }
}

export const LIMIT_BY_GRANT: LimitByBody = {
  oneOf: ['token', 'refresh'],
  choose: async ({ body }) =>
    body instanceof UnreadBody ? body.read(READER).then(limitOf, () => 'token') : 'token',
};

const READER = new BodyReader(bodyLimitsOf(TokenDto, []));

export type TokenRequest = TokenDto | ClientTokenDto | RefreshDto;

const PARAMETERS: Readonly<Record<Grant, Type<TokenRequest>>> = {
  authorization_code: TokenDto,
  own_code: ClientTokenDto,
  refresh_token: RefreshDto,
};

/** Body of POST /oauth2/token: the grant decides which parameters it has. */
@Injectable()
export class TokenRequestPipe extends ParametersPipe {
  override transform(body: unknown): TokenRequest | Promise<TokenRequest> {
    if (body instanceof UnreadBody) return body.read(READER).then((read) => this.validateGrant(read));
    return this.validateGrant(body);
  }

  private validateGrant(body: unknown): TokenRequest {
    return super.transform(body, {
      type: 'body',
      metatype: PARAMETERS[grantOf(body)],
    }) as TokenRequest;
  }
}
