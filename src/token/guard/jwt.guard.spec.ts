import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Socket } from 'socket.io';
import type { ServiceRight } from '../../platform/config/secrets/service-key.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type SessionIds } from '../../platform/events.js';
import type { RateLimits } from '../../platform/http/rate-limit.js';
import type { AuditRefusals, Refusal } from '../../audit/audit-refusals.js';
import type { UserLifecycles } from '../../user/user-lifecycle.js';
import { Public, Requires, ServiceKeyOnly } from '../../platform/http/access.js';
import type { AccessTokenVerifier, VerifiedToken } from '../access-tokens/access-token.verifier.js';
import { Audiences } from '../access-tokens/audiences.js';
import { JwtGuard, ServiceKeys } from './jwt.guard.js';

const GOOD = 'a-good_token.~+/==';
const KEYS: Record<string, ServiceRight[]> = {
  reader: ['read'],
  pusher: ['push'],
  helper: ['support'],
  'a:b+c%': ['read'],
};
const session: SessionIds = { userId: 'u', sessionId: 's', deviceId: null };
const away = new Error('the database is away');

const basic = (password: string, user = 'client'): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

describe('authentication', () => {
  let guard: JwtGuard;
  let used: SessionIds[];
  let counted: [limit: string, address: string | undefined][];
  let isOverLimit: boolean;
  let right: 'users' | 'support' | null;
  let refused: Refusal[];
  beforeEach(() => {
    [used, counted, isOverLimit, right, refused] = [[], [], false, null, []];
    const events = new Events();
    events.on('session.used', (one) => void used.push(one));
    const find = (token: string): Promise<VerifiedToken | undefined> =>
      token === 'away'
        ? Promise.reject(away)
        : Promise.resolve(token === GOOD ? ({ session } as VerifiedToken) : undefined);
    const tokens: Pick<AccessTokenVerifier, 'find' | 'verify'> = {
      find,
      verify: async (token) => {
        const verified = await find(token);
        if (verified) return verified;
        throw new OAuthError('invalid_token', 'x', {
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        });
      },
    };
    const limits: Pick<RateLimits, 'count'> = {
      count: (limit, address) => {
        counted.push([limit, address]);
        return isOverLimit ? Promise.reject(new OAuthError('slow_down', 'x')) : Promise.resolve();
      },
    };
    const serviceKeys = Object.entries(KEYS).map(([key, rights]) => ({ name: `the ${key}`, key, rights }));
    const audiences = new Audiences();
    guard = new JwtGuard(
      new Reflector(),
      tokens as AccessTokenVerifier,
      new ServiceKeys({ serviceKeys } as unknown as Settings, audiences),
      audiences,
      events,
      limits as RateLimits,
      { right: () => Promise.resolve(right) } as Partial<UserLifecycles> as UserLifecycles,
      { refused: (refusal) => void refused.push(refusal) } as Pick<AuditRefusals, 'refused'> as AuditRefusals,
    );
  });

  function routes(): object {
    class Routes {
      @Public() open(): void {}
      user(): void {}
      @ServiceKeyOnly('read') read(): void {}
      @ServiceKeyOnly('read', { asPassword: true }) introspect(): void {}
      @Requires('support') help(): void {}
      @Requires('users') manage(): void {}
    }
    return Routes;
  }
  type Route = 'open' | 'user' | 'read' | 'introspect' | 'help' | 'manage';
  interface FakeRequest {
    readonly headers: { readonly authorization?: string };
    readonly ip: string;
    readonly id: string;
    readonly app: { readonly get: () => string };
    session?: SessionIds;
    actor?: object;
  }
  function ask(
    route: Route,
    authorization?: string,
  ): { request: FakeRequest; decision: true | Promise<true> } {
    const controller = routes() as { prototype: Record<Route, () => void> };
    const headers = authorization === undefined ? {} : { authorization };
    const request: FakeRequest = { headers, ip: '192.0.2.1', id: 'r', app: { get: () => 'full' } };
    const context = {
      getHandler: () => controller.prototype[route],
      getClass: () => controller,
      switchToHttp: () => ({ getRequest: () => request }),
    };
    return { request, decision: guard.canActivate(context as unknown as ExecutionContext) };
  }
  async function answer(route: Route, authorization?: string): Promise<string> {
    try {
      await ask(route, authorization).decision;
      return 'in';
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      expect(error.description).not.toBe('');
      return [error.status, error.error, error.headers['WWW-Authenticate']].join(' ');
    }
  }

  const NO_TOKEN = '401 invalid_token Bearer'; // RFC 6750 §3.1: no error attribute without a token
  const BAD_TOKEN = '401 invalid_token Bearer error="invalid_token"';
  const TOO_LITTLE = '403 insufficient_scope Bearer error="insufficient_scope"';

  // An invalid token or key counts as a failure (RATE_LIMIT_BAD_TOKEN), a missing header does not.
  it.each<[Route, string | undefined, answer: string, counts: boolean]>([
    ['open', undefined, 'in', false],
    ['open', 'Bearer bad', 'in', false],
    ['user', undefined, NO_TOKEN, false],
    ['user', `Bearer ${GOOD}`, 'in', false],
    ['user', 'Bearer bad', BAD_TOKEN, true],
    ['user', 'Bearer', BAD_TOKEN, true],
    ['user', `bearer   ${GOOD}`, 'in', false],
    ...['Bearer ', 'Bearer a b', 'Bearer =a', 'Bearer a=b', 'Bearer é'].map(
      (header): [Route, string, string, boolean] => ['user', header, BAD_TOKEN, true],
    ),
    ...[`Bearer${GOOD}`, `x Bearer ${GOOD}`, ''].map((header): [Route, string, string, boolean] => [
      'user',
      header,
      NO_TOKEN,
      true,
    ]),
    ['user', 'Basic YTpi', NO_TOKEN, true],
    ['user', 'Bearer reader', BAD_TOKEN, true],
    ['read', undefined, NO_TOKEN, false],
    ['read', 'Bearer reader', 'in', false],
    ['read', 'Bearer pusher', TOO_LITTLE, false],
    ['read', `Bearer ${GOOD}`, TOO_LITTLE, false],
    ['read', 'Bearer bad', BAD_TOKEN, true],
    ['read', basic('reader'), NO_TOKEN, true],
    ['introspect', undefined, NO_TOKEN, false],
    ['introspect', 'Bearer reader', 'in', false],
    ['introspect', basic('reader'), 'in', false],
    ['introspect', basic('%72eader'), 'in', false],
    ['introspect', basic('reader', ''), 'in', false],
    ['introspect', basic('reader').replace('Basic ', 'bASIC  '), 'in', false],
    ['introspect', basic('a:b+c%'), 'in', false], // no form decoding; a stray % stays
    ['introspect', basic('pusher'), TOO_LITTLE, false],
    ['introspect', `${basic('reader')} x`, NO_TOKEN, true],
    ['introspect', `Basic ${Buffer.from('reader').toString('base64')}`, NO_TOKEN, true],
    ['introspect', `Basic ${'='.repeat(10_000)}`, NO_TOKEN, true],
    // no challenge for Basic: a browser would ask for a password
    ['introspect', basic('bad'), NO_TOKEN, true],
    ['introspect', 'Bearer bad', BAD_TOKEN, true],
    ['help', 'Bearer helper', 'in', false],
    ['help', 'Bearer reader', TOO_LITTLE, false],
    ['help', `Bearer ${GOOD}`, TOO_LITTLE, false],
    ['help', basic('helper'), NO_TOKEN, true],
    ['manage', 'Bearer helper', TOO_LITTLE, false],
  ])('%s with %s: %s', async (route, authorization, expected, counts) => {
    expect(await answer(route, authorization)).toBe(expected);
    expect(counted).toEqual(counts ? [['bad_token', '192.0.2.1']] : []);
  });

  it('a public route is open at once', () => {
    expect(ask('open').decision).toBe(true);
  });

  it('the route gets the session of a valid token, and session.used is emitted', async () => {
    const { request, decision } = ask('user', `Bearer ${GOOD}`);
    await decision;
    expect([request.session, used]).toEqual([session, [session]]);
    await answer('user', 'Bearer bad');
    await answer('read', 'Bearer reader');
    expect(used).toHaveLength(1);
  });

  it.each<[right: typeof right, helps: boolean, manages: boolean]>([
    ['users', true, true],
    ['support', true, false],
    [null, false, false],
  ])('a user with the right %s', async (granted, helps, manages) => {
    right = granted;
    const expected = (isIn: boolean): string => (isIn ? 'in' : TOO_LITTLE);
    expect(await answer('help', `Bearer ${GOOD}`)).toBe(expected(helps));
    expect(await answer('manage', `Bearer ${GOOD}`)).toBe(expected(manages));
    for (const route of ['read', 'introspect'] as const) {
      expect(await answer(route, `Bearer ${GOOD}`)).toBe(TOO_LITTLE); // for service keys only
    }
  });

  it('a refused credential for rights is recorded, a missing one is not', async () => {
    await answer('read');
    await answer('user', 'Bearer bad');
    await answer('read', 'Bearer reader');
    expect(refused).toEqual([]);
    await answer('read', 'Bearer bad');
    await answer('read', 'Bearer pusher');
    await answer('help', `Bearer ${GOOD}`);
    const from = { address: '192.0.2.1', userAgent: null, requestId: 'r' };
    const event = { event: 'service_key_refused', userId: null };
    const scope = 'this call needs a service key with the right';
    expect(refused).toEqual([
      {
        ...event,
        error: 'invalid_token',
        reason: 'read needed: x',
        origin: { ...from, actor: { type: 'service_key' } },
      },
      {
        ...event,
        error: 'insufficient_scope',
        reason: `read needed: ${scope}: read`,
        origin: { ...from, actor: { type: 'service_key', name: 'the pusher' } },
      },
      {
        ...event,
        userId: 'u',
        error: 'insufficient_scope',
        reason: `support needed: ${scope}, or a role with it: support`,
        origin: {
          ...from,
          session: { userId: 'u', sessionId: 's', deviceId: null },
          actor: { type: 'user', name: 'u' },
        },
      },
    ]);
  });

  it('the request knows who acts', async () => {
    right = 'support';
    const actors = [];
    for (const [route, token] of [
      ['help', 'helper'],
      ['help', GOOD],
      ['user', GOOD],
      ['open', GOOD],
    ] as const) {
      const { request, decision } = ask(route, `Bearer ${token}`);
      await decision;
      actors.push(request.actor);
    }
    const user = { type: 'user', name: 'u' };
    expect(actors).toEqual([{ type: 'service_key', name: 'the helper' }, user, user, undefined]);
  });

  it('an address with too many failures gets slow_down, but never for a valid token', async () => {
    isOverLimit = true;
    expect(await answer('user', 'Bearer bad')).toMatch(/^429 slow_down/);
    expect(await answer('user', `Bearer ${GOOD}`)).toBe('in');
  });

  it('an unavailable database is no failure of the address', async () => {
    await expect(ask('user', 'Bearer away').decision).rejects.toBe(away);
    expect(counted).toEqual([]);
  });

  describe('by socket', () => {
    const admit = (auth: Record<string, unknown>, authorization?: string): Promise<VerifiedToken> =>
      guard.admitHandshake(
        { auth, headers: authorization === undefined ? {} : { authorization } } as Socket['handshake'],
        '192.0.2.2',
      );

    it.each<[auth: Record<string, unknown>, header: string | undefined, isIn: boolean]>([
      [{ token: GOOD }, undefined, true],
      [{ token: GOOD }, 'Bearer bad', true],
      [{}, `Bearer ${GOOD}`, true],
      [{ token: undefined }, `Bearer ${GOOD}`, true],
      [{ token: null }, `Bearer ${GOOD}`, true],
      [{ token: 'bad' }, `Bearer ${GOOD}`, false],
      [{ token: '' }, `Bearer ${GOOD}`, false],
      [{ token: [GOOD] }, `Bearer ${GOOD}`, false],
      [{ token: { toString: GOOD } }, undefined, false],
      [{}, `Basic ${GOOD}`, false],
      [{}, undefined, false],
    ])('%j and the header %s', async (auth, header, isIn) => {
      if (isIn) expect(await admit(auth, header)).toEqual({ session });
      else await expect(admit(auth, header)).rejects.toMatchObject({ error: 'invalid_token' });
      expect(counted).toEqual(isIn ? [] : [['bad_token', '192.0.2.2']]);
    });
  });
});
