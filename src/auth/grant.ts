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
 * The specification knows one grant here and no `grant_type` (spec §4.3): where its `code` and `state` are, that one is meant,
 * whatever `grant_type` says. Otherwise it decides (contract §4). A provider may be another Latchkey, so that a code of our own
 * with a state of ours is the provider's. Some clients send their own state along, which is none of ours.
 *
 * @param body as it was parsed; what is wrong with it is judged later
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

/** A refresh counts as one, at whichever address; what is refused counts as what the address is for (contract §2). */
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

/** What is no text at all is refused as a state. */
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

/** Body of POST /oauth2/token: which parameters it has depends on what is asked for. */
@Injectable()
export class TokenRequestPipe extends ParametersPipe {
  override transform(body: unknown): TokenRequest {
    return super.transform(body, {
      type: 'body',
      metatype: PARAMETERS[grantOf(body)],
    }) as TokenRequest;
  }
}
