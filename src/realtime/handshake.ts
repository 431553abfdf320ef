import { Injectable, Optional } from '@nestjs/common';
import type { Request } from 'express';
import type { Socket } from 'socket.io';
import { OAuthError } from '../errors/oauth-error.js';
import { RateLimits } from '../http/rate-limit.js';
import { AccessTokenVerifier, type VerifiedToken } from '../token/access-token.verifier.js';

/** What a client that may connect has shown. */
export interface Admission extends VerifiedToken {
  /** The offset that it goes on from; undefined: it begins here. */
  readonly offset: number | undefined;
}

/** Judges the handshake of a socket by the same rules as an HTTP request (spec §5.6, contract §7). */
@Injectable()
export class Handshake {
  constructor(
    private readonly tokens: AccessTokenVerifier,
    @Optional() private readonly limits?: RateLimits,
  ) {}

  /** @throws OAuthError `invalid_token`, `invalid_request` or `slow_down` */
  async admit({ handshake, request }: Pick<Socket, 'handshake' | 'request'>): Promise<Admission> {
    const auth = handshake.auth as Record<string, unknown>;
    const offset = readOffset(auth['offset']);
    const token = readToken(auth['token'], handshake.headers.authorization);
    const verified = token === undefined ? undefined : await this.tokens.find(token);
    if (verified) return { ...verified, offset };
    await this.limits?.count('bad_token', (request as Request).ip);
    throw new OAuthError('invalid_token', 'the access token is missing, invalid, has expired or was ended');
  }
}

/** From `auth.token`, else from the header; never from the query, which stands in logs. */
function readToken(token: unknown, header: string | undefined): string | undefined {
  if (token !== undefined && token !== null) return typeof token === 'string' ? token : undefined;
  return /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
}

function readOffset(offset: unknown): number | undefined {
  if (offset === undefined || offset === null) return undefined;
  if (Number.isSafeInteger(offset) && (offset as number) >= 0) return offset as number;
  throw new OAuthError('invalid_request', 'offset must be a whole number that is not negative');
}
