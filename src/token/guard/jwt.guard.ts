import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import type { Socket } from 'socket.io';
import type { ServiceRight } from '../../config/secrets/service-key.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events } from '../../events.js';
import { RateLimits } from '../../http/rate-limit.js';
import { ACCESS, KEY_AS_PASSWORD, type Access } from './access.js';
import { AccessTokenVerifier, type VerifiedToken } from '../access-tokens/access-token.verifier.js';
import { ServiceKeys } from './service-keys.js';
import { percentDecoded, readBasic } from '../../http/basic-credentials.js';

// RFC 6750 §2.1. This is about the form only; the token itself is verified elsewhere.
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const SCHEME = /^Bearer(?: |$)/i;

/** The token of an `Authorization` header, or undefined where it holds no bearer token. */
function readBearerToken(header = ''): string | undefined {
  return BEARER.exec(header)?.[1];
}

/** Whether an `Authorization` header is of the scheme Bearer, whatever follows. */
function isOfSchemeBearer(header = ''): boolean {
  return SCHEME.test(header);
}

/**
 * Decides who may come in, over HTTP and by socket alike (spec §5.6). As a Nest guard it stands before every route: one that
 * declares nothing else (access.ts) needs a user's access token. Nest does not call guards when a socket connects, so the
 * gateway's middleware asks this one about every handshake.
 */
@Injectable()
export class JwtGuard implements CanActivate {
  /** By method and controller: as many as there are routes. */
  private readonly declared = new Map<object, Map<object, Access>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: AccessTokenVerifier,
    private readonly serviceKeys: ServiceKeys,
    private readonly events: Events,
    private readonly limits: RateLimits,
  ) {}

  /** A public route is open at once: no promise is made for it. */
  canActivate(context: ExecutionContext): true | Promise<true> {
    const access = this.accessTo(context);
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<Request>();
    if (access === 'user') return this.admit(request, this.requireUser(request));
    const asPassword = this.reflector.get<boolean | undefined>(KEY_AS_PASSWORD, context.getHandler());
    return this.admit(request, this.requireServiceKey(request, access, asPassword));
  }

  /** Looked up once for each route: 0.16 µs in a loop, and 0.01 with this. */
  private accessTo(context: ExecutionContext): Access {
    const [route, controller] = [context.getHandler(), context.getClass()];
    const known = this.declared.get(route)?.get(controller);
    if (known) return known;
    const access =
      this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [route, controller]) ?? 'user';
    const ofRoute = this.declared.get(route) ?? new Map<object, Access>();
    this.declared.set(route, ofRoute.set(controller, access)); // controllers may share a method
    return access;
  }

  /**
   * Whose socket it is, by the token of its handshake.
   * @param address that the handshake came from
   * @throws OAuthError `invalid_token` or `slow_down`
   */
  async admitHandshake(handshake: Socket['handshake'], address: string | undefined): Promise<VerifiedToken> {
    const token = tokenOfHandshake(handshake);
    const verified = token === undefined ? undefined : await this.tokens.find(token);
    if (verified) return verified;
    await this.limits.count('bad_token', address);
    throw new OAuthError('invalid_token', 'the access token is missing, invalid, has expired or was ended');
  }

  private async admit(request: Request, required: Promise<void>): Promise<true> {
    try {
      await required;
      return true;
    } catch (error) {
      // Only a refusal is counted, so a limit refuses no valid token (contract §2, RATE_LIMIT).
      if (isBadToken(request, error)) await this.limits.count('bad_token', request.ip);
      throw error;
    }
  }

  private async requireUser(request: Request): Promise<void> {
    const { session } = await this.tokens.verify(tokenOfRequest(request));
    request.session = session;
    this.events.emit('session.used', session);
  }

  private async requireServiceKey(request: Request, right: ServiceRight, asPassword = false): Promise<void> {
    const passwords = asPassword ? readBasicPasswords(request.headers.authorization) : undefined;
    const rights = passwords
      ? this.rightsOfPasswords(passwords)
      : await this.rightsOfBearer(tokenOfRequest(request));
    if (rights.has(right)) return;
    throw new OAuthError('insufficient_scope', 'this call needs a service key with the right to make it', {
      headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
    });
  }

  private async rightsOfBearer(key: string): Promise<ReadonlySet<ServiceRight>> {
    const rights = this.serviceKeys.rightsOf(key);
    if (!rights) await this.tokens.verify(key); // a user's token is valid, but not enough (RFC 6750 §3.1)
    return rights ?? new Set();
  }

  private rightsOfPasswords(passwords: readonly string[]): ReadonlySet<ServiceRight> {
    const rights = passwords.map((password) => this.serviceKeys.rightsOf(password)).find(Boolean);
    if (rights) return rights;
    // No challenge for Basic (contract §4): a browser would ask somebody for a password.
    throw new OAuthError('invalid_token', 'the password is no service key', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
}

/** Whether the request presented something that is not a token of ours. Without a header, nothing was tried. */
function isBadToken(request: Request, error: unknown): boolean {
  return (
    request.headers.authorization !== undefined &&
    error instanceof OAuthError &&
    error.error === 'invalid_token'
  );
}

/** The token of the header; over HTTP it is read from nowhere else (contract §4). */
function tokenOfRequest({ headers }: Request): string {
  const token = readBearerToken(headers.authorization);
  if (token !== undefined) return token;
  if (!isOfSchemeBearer(headers.authorization)) {
    // RFC 6750 §3.1: no error attribute when there was no authentication, or one of another scheme
    throw new OAuthError('invalid_token', 'an access token is needed, as a bearer token', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  throw new OAuthError('invalid_token', 'the Authorization header holds no bearer token', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}

/** From `auth.token`, else from the header; never from the query, which ends up in logs (contract §7). */
function tokenOfHandshake({ auth, headers }: Socket['handshake']): string | undefined {
  const token = auth['token'] as unknown;
  if (token === undefined || token === null) return readBearerToken(headers.authorization);
  return typeof token === 'string' ? token : undefined;
}

/**
 * What may be meant by the password of an `Authorization: Basic` header: it as it was sent, and with its percent-encoding
 * undone. The user name is not looked at.
 * @returns undefined where the header holds no user name and password
 */
function readBasicPasswords(header?: string): readonly string[] | undefined {
  const password = readBasic(header)?.password;
  return password === undefined ? undefined : [password, percentDecoded(password)];
}
