import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { RateLimits } from '../http/rate-limit.js';
import { AccessTokenVerifier } from './access-token.verifier.js';
import { ACCESS, type Access } from './access.js';
import { ServiceKeys } from './service-keys.js';

// RFC 6750 §2.1; the token itself is judged by whoever verifies it.
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const IS_BEARER = /^Bearer(?: |$)/i;

/** Stands before every route (see access.ts): what a route does not open needs a user's access token. */
@Injectable()
export class JwtGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: AccessTokenVerifier,
    private readonly serviceKeys: ServiceKeys,
    private readonly events: Events,
    private readonly limits: RateLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const declared = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, declared) ?? 'user';
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<Request>();
    try {
      const token = bearerToken(request);
      if (access === 'service') await this.requireServiceKey(token);
      else await this.requireUser(request, token);
      return true;
    } catch (error) {
      // Only a refusal is counted, so a limit refuses no valid token (contract §2, RATE_LIMIT).
      if (isBadToken(request, error)) await this.limits.count('bad_token', request.ip);
      throw error;
    }
  }

  private async requireUser(request: Request, token: string): Promise<void> {
    const { session } = await this.tokens.verify(token);
    request.session = session;
    this.events.emit('session.used', session);
  }

  private async requireServiceKey(key: string): Promise<void> {
    if (this.serviceKeys.includes(key)) return;
    await this.tokens.verify(key); // a user's token is good, and not enough (RFC 6750 §3.1)
    throw new OAuthError('insufficient_scope', 'this call needs a service key', {
      headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
    });
  }
}

/** Whether somebody presented something that is no token of ours; nothing at all is no attempt. */
function isBadToken(request: Request, error: unknown): boolean {
  return (
    request.headers.authorization !== undefined &&
    error instanceof OAuthError &&
    error.error === 'invalid_token'
  );
}

/** The token of the header; over HTTP it is read from nowhere else (contract §4). */
function bearerToken(request: Request): string {
  const { authorization = '' } = request.headers;
  const [, token] = BEARER.exec(authorization) ?? [];
  if (token !== undefined) return token;
  if (!IS_BEARER.test(authorization)) {
    // RFC 6750 §3.1: no error attribute when there was no authentication, or one of another scheme
    throw new OAuthError('invalid_token', 'an access token is needed, as a bearer token', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  throw new OAuthError('invalid_token', 'the Authorization header holds no bearer token', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}
