import { setTimeout as delay } from 'node:timers/promises';
import { LatchkeyError, invalidToken, temporarilyUnavailable } from '../latchkey-error.js';
import type { Claims } from '../token/token-signature.js';
import { AccessTokens, type CookieSession } from './access-tokens.js';
import { ProofKey } from './proof-key.js';
import type { TokenAnswer } from './token-calls.js';

const proofs = new ProofKey('a secret');
const session = (refreshToken = 'r'): CookieSession => ({ refreshToken, proofs });
const settled = () => delay(0);

describe('access tokens', () => {
  let time: number;
  let requests: number;
  /** Tokens that are refused, although they have not expired here. */
  let invalid: Set<string>;
  let answer: () => Promise<TokenAnswer>;
  let tokens: AccessTokens;

  beforeEach(() => {
    [time, requests, invalid] = [0, 0, new Set()];
    answer = () => Promise.resolve({ access_token: `token ${requests}`, expires_in: 3600 });
    const claimsOf = async (token: string): Promise<Claims> => {
      await settled();
      if (invalid.has(token)) throw invalidToken('x');
      return { jti: token } as Claims;
    };
    const follow = async (token: string) => {
      await settled();
      return () => claimsOf(token);
    };
    const token = () => {
      requests++;
      return answer();
    };
    tokens = new AccessTokens({ follow }, { token }, () => time);
  });

  const current = (one = session()) =>
    tokens.current(one).then(
      (value) => value?.token ?? 'ended',
      (error: LatchkeyError) => error.code,
    );
  const fails = (error: Error) => async (): Promise<TokenAnswer> => {
    await settled();
    throw error;
  };

  it('replaces a token whose key was revoked, once for all requests', async () => {
    expect(await current()).toBe('token 1');
    invalid.add('token 1');
    expect(await Promise.all([current(), current(), current()])).toEqual(['token 2', 'token 2', 'token 2']);
    expect(requests).toBe(2);
  });

  it('signs nobody out because of clocks: a new token that is invalid here is 503', async () => {
    invalid.add('token 1');
    invalid.add('token 2');
    expect(await current()).toBe('temporarily_unavailable');
    expect(requests).toBe(2);
  });

  it.each(['slow_down', 'invalid_request', 'invalid_token', 'temporarily_unavailable'])(
    'takes %s for no end of a session',
    async (code) => {
      answer = fails(new LatchkeyError(code, code === 'temporarily_unavailable' ? 503 : 400, 'x'));
      expect(await current()).toBe('temporarily_unavailable');
      answer = () => Promise.resolve({ access_token: 'good', expires_in: 60 });
      expect(await current()).toBe('good');
    },
  );

  it('asks no more about a session that has ended', async () => {
    answer = fails(new LatchkeyError('invalid_grant', 401, 'x'));
    expect([await current(), await current()]).toEqual(['ended', 'ended']);
    expect(requests).toBe(1);
  });

  it('keeps a session signed out that was being refreshed', async () => {
    let deliver!: (value: TokenAnswer) => void;
    answer = () => new Promise((resolve) => (deliver = resolve));
    const refreshing = current();
    await settled();
    tokens.end('r');
    deliver({ access_token: 'late', expires_in: 3600 });
    expect([await refreshing, await current()]).toEqual(['ended', 'ended']);
  });

  it('tries again every five seconds in the background, while the service is away', async () => {
    await current();
    time = 56 * 60_000;
    answer = fails(temporarilyUnavailable());
    for (let i = 0; i < 10; i++) expect(await current()).toBe('token 1');
    expect(requests).toBe(2);
    time += 5000;
    expect(await current()).toBe('token 1');
    expect(requests).toBe(3);
  });

  it('refreshes a short-lived token at half of its life', async () => {
    answer = () => Promise.resolve({ access_token: `token ${requests}`, expires_in: 60 });
    await current();
    time = 29_999;
    await current();
    expect(requests).toBe(1);
    time = 30_000;
    expect(await current()).toBe('token 1');
    await settled();
    expect(await current()).toBe('token 2');
  });

  it('keeps 100 MB of tokens at most, those that were used last', async () => {
    const token = 'x'.repeat(333_000); // 1 MB with claims
    answer = () => Promise.resolve({ access_token: token, expires_in: 3600 });
    for (let one = 0; one < 99; one++) await current(session(`r${one}`));
    await current(session('r0'));
    expect(requests).toBe(99);
    for (let one = 99; one < 120; one++) await current(session(`r${one}`));
    expect(requests).toBe(120);
    await current(session('r0'));
    expect(requests).toBe(120);
    await current(session('r1'));
    expect(requests).toBe(121);
  });
});
