import { Injectable, type Type } from '@nestjs/common';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { BodyReader, UnreadBody } from '../platform/http/parameters/body.js';
import { bodyLimitsOf } from '../platform/http/parameters/parameter.js';
import { ParametersPipe } from '../platform/http/parameters/parameters.pipe.js';
import type { LimitByBody } from '../platform/http/rate-limit.js';
import { CODE_PREFIX } from './clients/clients.dto.js';
import { STATE } from './states/state.service.js';
import { TokenGrants } from './extensions/token-grants.js';
import { ClientTokenDto, RefreshDto, TokenDto } from './token.dto.js';

/** Parameters of POST /oauth2/token; their class is the grant. */
export type TokenRequest = TokenDto | ClientTokenDto | RefreshDto;

/**
 * Decides which grant a request is: the only place that does. `code` and `state` mean the grant of the
 * specification (spec §4.3); otherwise `grant_type` decides. A provider may be another Latchkey: a code with
 * our prefix and a state in our format is the provider's. Some clients send another state.
 * @param body parsed, not validated
 * @param others grants of other modules
 * @throws OAuthError `unsupported_grant_type`, or `invalid_request` if it is not text
 */
export function chooseGrant(body: unknown, others?: TokenGrants): Type<TokenRequest> {
  const { code, state, grant_type: grantType } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const isOwn = typeof code === 'string' && code.startsWith(CODE_PREFIX) && !mayBeOurs(state);
  if (!isOwn && !isEmpty(code) && !isEmpty(state)) return TokenDto;
  if (isEmpty(grantType) || grantType === 'authorization_code') return isOwn ? ClientTokenDto : TokenDto;
  if (grantType === 'refresh_token') return RefreshDto;
  if (typeof grantType !== 'string') throw new OAuthError('invalid_request', 'grant_type must be given once');
  const other = others?.dtoOf(grantType);
  if (other) return other as Type<TokenRequest>;
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

/** A refresh counts as one at either endpoint (docs/settings.md#proxy-and-rate-limits). */
export function chooseLimit(body: unknown): 'token' | 'refresh' {
  try {
    return chooseGrant(body) === RefreshDto ? 'refresh' : 'token';
  } catch {
    return 'token'; // the pipe rejects it
  }
}

const READER = new BodyReader(bodyLimitsOf(TokenDto, []));

export const LIMIT_BY_GRANT: LimitByBody = {
  oneOf: ['token', 'refresh'],
  choose: async ({ body }) =>
    body instanceof UnreadBody ? body.read(READER).then(chooseLimit, () => 'token') : 'token',
};

/** Makes the parameters of the grant from a body. */
@Injectable()
export class TokenRequestPipe extends ParametersPipe {
  constructor(private readonly grants: TokenGrants) {
    super();
  }

  override transform(body: unknown): TokenRequest | Promise<TokenRequest> {
    if (body instanceof UnreadBody) return body.read(READER).then((read) => this.toRequest(read));
    return this.toRequest(body);
  }

  private toRequest(body: unknown): TokenRequest {
    return super.transform(body, { type: 'body', metatype: chooseGrant(body, this.grants) }) as TokenRequest;
  }
}
