import { Injectable, type CanActivate, type ExecutionContext, Inject } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import type { Socket } from 'socket.io';
import { AuditRefusals } from '../../audit/audit-refusals.js';
import { originOf } from '../../audit/audit-event.js';
import { GRANTS, type ServiceRight } from '../../platform/config/secrets/service-key.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type SessionIds } from '../../platform/events.js';
import { RateLimits } from '../../platform/http/rate-limit.js';
import { UserLifecycles } from '../../user/user-lifecycle.js';
import { ACCESS, type Access, type RightsNeeded } from '../../platform/http/access.js';
import { Audiences } from '../access-tokens/audiences.js';
import {
  AccessTokenVerifier,
  invalidToken,
  type VerifiedToken,
} from '../access-tokens/access-token.verifier.js';
import { percentDecoded, readBasic } from '../../platform/http/basic-credentials.js';
import { hash, timingSafeEqual } from 'node:crypto';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';

export interface KeyHolder {
  readonly name: string;
  /** Its holder is this API, and may do what a route allows APIs (`ofAudience`). */
  readonly audience?: string;
  readonly rights: ReadonlySet<ServiceRight>;
}

/** Service keys (docs/production.md#service-keys). */
@Injectable()
export class ServiceKeys {
  private readonly keys: readonly { readonly hash: Buffer; readonly holder: KeyHolder }[];

  constructor(
    @Inject(SETTINGS) { serviceKeys }: Settings,
    private readonly audiences: Audiences,
  ) {
    this.keys = serviceKeys.map(({ key, name }) => {
      const same = serviceKeys.filter((other) => other.key === key);
      const rights = new Set(same.flatMap((other) => other.rights));
      return { hash: hash('sha256', key, 'buffer'), holder: { name, rights } };
    });
  }

  /**
   * Finds a service key, in constant time. A key that is listed several times has all its rights, and its
   * first name.
   * @returns undefined if the text is no key
   */
  find(text: string): KeyHolder | undefined {
    const presented = hash('sha256', text, 'buffer');
    const [found] = this.keys.filter(({ hash: known }) => timingSafeEqual(known, presented));
    if (found) return found.holder;
    const audience = this.audiences.findByKey(text)?.resource;
    return audience === undefined ? undefined : { name: audience, audience, rights: new Set() };
  }
}

// RFC 6750 §2.1
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const SCHEME = /^Bearer(?: |$)/i;

function readBearerToken(header = ''): string | undefined {
  return BEARER.exec(header)?.[1];
}

/**
 * Authenticates HTTP requests and sockets (spec §5, 6). As a Nest guard it runs before every route; a route
 * without a declaration (access.ts) needs a user's access token. Nest calls no guards when a socket connects,
 * so the gateway calls `admitHandshake`.
 */
@Injectable()
export class JwtGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: AccessTokenVerifier,
    private readonly serviceKeys: ServiceKeys,
    private readonly audiences: Audiences,
    private readonly events: Events,
    private readonly limits: RateLimits,
    private readonly lifecycles: UserLifecycles,
    private readonly audit: AuditRefusals,
  ) {}

  canActivate(context: ExecutionContext): true | Promise<true> {
    const targets = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, targets) ?? 'user';
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<Request>();
    if (access === 'forwarded') return this.admitForwarded(request);
    if (access === 'user') return this.admit(request, this.requireUser(request));
    return this.admit(request, this.requireRight(request, access), access);
  }

  /**
   * Verifies the token of a socket's handshake.
   * @param address of the client
   * @throws OAuthError `invalid_token` or `slow_down`
   */
  async admitHandshake(handshake: Socket['handshake'], address: string | undefined): Promise<VerifiedToken> {
    const token = readHandshakeToken(handshake);
    const verified = token === undefined ? undefined : await this.tokens.find(token);
    if (verified) return verified;
    await this.limits.count('bad_token', address);
    throw new OAuthError('invalid_token', 'the access token is missing, invalid, has expired or was ended');
  }

  /** @param needed rights of the route, unless it is for users */
  private async admit(request: Request, required: Promise<unknown>, needed?: RightsNeeded): Promise<true> {
    try {
      await required;
      return true;
    } catch (error) {
      // A request without the header presented no credential.
      if (error instanceof OAuthError && request.headers.authorization !== undefined) {
        if (needed) this.report(request, error, needed);
        // Only failures count, so a limit rejects no valid token (RATE_LIMIT_BAD_TOKEN).
        if (error.error === 'invalid_token') await this.limits.count('bad_token', request.ip);
      }
      throw error;
    }
  }

  private async admitForwarded(request: Request): Promise<true> {
    const audience = this.audiences.find(request.query['resource'])?.resource;
    request.verified = await this.tokens.verify(readToken(request), {
      isForwarded: true,
      ...(audience !== undefined && { audience }),
    });
    return true;
  }

  /** Records a refused credential for rights. */
  private report(request: Request, { error, reason }: OAuthError, { rights }: RightsNeeded): void {
    const from = originOf(request);
    const origin = request.actor ? from : { ...from, actor: { type: 'service_key' } as const };
    const needed = `${rights.join(' or ')} needed: ${reason}`;
    const userId = request.session?.userId ?? null;
    this.audit.refused({ event: 'service_key_refused', userId, error, reason: needed, origin });
  }

  private async requireUser(request: Request): Promise<SessionIds> {
    const verified = await this.tokens.verify(readToken(request));
    const { session } = verified;
    const { userId } = session;
    Object.assign(request, { verified, session, actor: { type: 'user', name: userId } });
    this.events.emit('session.used', session);
    return session;
  }

  private async requireRight(request: Request, needed: RightsNeeded): Promise<void> {
    const basic = needed.asPassword ? readBasic(request.headers.authorization) : undefined;
    const key = basic ? this.findKey(basic.password) : this.serviceKeys.find(readToken(request));
    if (key) Object.assign(request, { actor: { type: 'service_key', name: key.name } });
    if (key?.audience !== undefined && needed.ofAudience) {
      request.audience = key.audience;
      return;
    }
    const granted = key?.rights ?? (await this.findUserRights(request, needed.orPerson));
    if (needed.rights.some((right) => granted.has(right))) return;
    const who = `a service key with the right${needed.orPerson ? ', or a role with it' : ''}`;
    throw new OAuthError('insufficient_scope', `this call needs ${who}: ${needed.rights.join(' or ')}`, {
      headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
    });
  }

  /**
   * Returns the rights that features grant a user now, not when the token was issued; a valid token may be
   * insufficient (RFC 6750 §3.1).
   */
  private async findUserRights(request: Request, orPerson: boolean): Promise<ReadonlySet<ServiceRight>> {
    const session = await this.requireUser(request);
    const right = orPerson ? await this.lifecycles.right(session.userId, session.sessionId) : null;
    return new Set(right === null ? [] : GRANTS[right]);
  }

  /** @param password of Basic, as it was sent; the user name is ignored */
  private findKey(password: string): KeyHolder {
    const key = this.serviceKeys.find(password) ?? this.serviceKeys.find(percentDecoded(password));
    if (key) return key;
    // No challenge for Basic: browsers would open a password dialog.
    throw invalidToken('the password is no service key', 'Bearer');
  }
}

/** Reads the header, over HTTP the only source of a token. */
function readToken({ headers }: Request): string {
  const token = readBearerToken(headers.authorization);
  if (token !== undefined) return token;
  if (SCHEME.test(headers.authorization ?? '')) {
    throw invalidToken('the Authorization header holds no bearer token');
  }
  throw invalidToken('an access token is needed, as a bearer token', 'Bearer');
}

/**
 * Reads `auth.token`, else the header; never the query, which is logged by proxies
 * (docs/realtime.md#the-handshake).
 */
function readHandshakeToken({ auth, headers }: Socket['handshake']): string | undefined {
  const token = auth['token'] as unknown;
  if (token === undefined || token === null) return readBearerToken(headers.authorization);
  return typeof token === 'string' ? token : undefined;
}
