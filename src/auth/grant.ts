import { Injectable, type Type } from '@nestjs/common';
import type { Request } from 'express';
import { OAuthError } from '../errors/oauth-error.js';
import { ParametersPipe } from '../http/parameters/parameters.pipe.js';
import { CODE_PREFIX } from './clients/authorization-codes.js';
import { ClientTokenDto } from './clients/client-token.dto.js';
import { STATE } from './states/state.service.js';
import { RefreshDto, TokenDto } from './token.dto.js';

/** What POST /oauth2/token is asked to do; `own_code`: an authorization code that we have issued ourselves (contract §4). */
export type Grant = 'authorization_code' | 'own_code' | 'refresh_token';

/**
 * `code` and `state` mean the grant of the specification (spec §4.3); otherwise `grant_type` decides (contract §4). A provider may
 * be another Latchkey: a code with our prefix and a state in our format is the provider's. Some clients send a state of their own.
 *
 * @param body parsed, not validated
 * @throws OAuthError `unsupported_grant_type`, or `invalid_request` for one that is no text
 */
export function grantOf(body: unknown): Grant {
  const given = parametersOf(body);
  const grantType = given['grant_type'];
  const isOwn = isOwnCode(given['code']) && !mayBeOurs(given['state']);
  if (!(isOwn || isEmpty(given['code']) || isEmpty(given['state']))) return 'authorization_code';
  if (isEmpty(grantType) || grantType === 'authorization_code')
    return isOwn ? 'own_code' : 'authorization_code';
  if (grantType === 'refresh_token') return grantType;
  if (typeof grantType !== 'string') throw new OAuthError('invalid_request', 'grant_type must be given once');
  throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
}

/** Limit by grant, so that a refresh counts as one at either endpoint (contract §2). */
export function limitOf({ body }: Request): 'token' | 'refresh' {
  return isRefresh(body) ? 'refresh' : 'token';
}

function isRefresh(body: unknown): boolean {
  try {
    return grantOf(body) === 'refresh_token';
  } catch {
    return false;
  }
}

function isOwnCode(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith(CODE_PREFIX);
}

/** A value that is not text is refused later, as a state. */
function mayBeOurs(state: unknown): boolean {
  return !isEmpty(state) && (typeof state !== 'string' || STATE.test(state));
}

function parametersOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? { ...body } : {};
}

/** Left out, as an optional parameter is (contract §3). */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

export type TokenRequest = TokenDto | ClientTokenDto | RefreshDto;

const PARAMETERS: Readonly<Record<Grant, Type<TokenRequest>>> = {
  authorization_code: TokenDto,
  own_code: ClientTokenDto,
  refresh_token: RefreshDto,
};

/** Body of POST /oauth2/token: the grant decides which parameters it has. */
@Injectable()
export class TokenRequestPipe extends ParametersPipe {
  override transform(body: unknown): TokenRequest {
    return super.transform(body, {
      type: 'body',
      metatype: PARAMETERS[grantOf(body)],
    }) as TokenRequest;
  }
}
