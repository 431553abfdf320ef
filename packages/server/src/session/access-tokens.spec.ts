import { setTimeout as delay } from 'node:timers/promises';
import { LatchkeyError, invalidToken, temporarilyUnavailable } from '../latchkey-error.js';
import type { Claims } from '../token/token-signature.js';
import { AccessTokens, type CookieSession } from './access-tokens.js';
import { ProofKey } from './proof-key.js';
import type { TokenAnswer, TokenCalls } from './token-calls.js';

const proofs = new ProofKey('a secret');
const session = (refreshToken = 'r'): CookieSession => ({ refreshToken, proofs });
const settled = () => delay(0);

describe('access tokens', () => {
  let time: number;
  let requests: number;
  /** Tokens that are refused, although they have not expired here. */
  let invalid: Set<string>;
  let answer: () => Promise<TokenAnswer>;
  let bodies: object[];
  /** What the service says about the end of a session; undefined without a service key. */
  let left: number | undefined;
  let tokens: AccessTokens;

  beforeEach(() => {
    [time, requests, invalid] = [0, 0, new Set()];
    [bodies, left] = [[], undefined];
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
    const token: TokenCalls['token'] = (_path, body) => {
      requests++;
      bodies.push(body);
      return answer();
    };
    const secondsLeft = (): Promise<number | undefined> => Promise.resolve(left);
    tokens = new AccessTokens({ follow }, { token, secondsLeft }, () => time);
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

  describe('with idle time', () => {
    const LIMIT = 1800;
    const MINUTE = 60_000;
    const use = () => tokens.current(session());
    const noUse = () => tokens.current(session(), true, false);
    const reported = () => bodies.map((body) => (body as { idle_for?: number }).idle_for);

    beforeEach(() => {
      answer = () => {
        const { idle_for = 0 } = bodies.at(-1) as { idle_for?: number };
        const end = LIMIT - idle_for;
        return Promise.resolve({ access_token: `token ${requests}`, expires_in: end, idle_expires_in: end });
      };
    });

    it('reports the first page request of each minute, and no page waits for it', async () => {
      await use();
      for (let second = 0; second <= 180; second += 5) {
        time = second * 1000;
        const before = requests;
        expect((await use())!.token).toBe(`token ${before}`);
        await settled();
        await settled();
      }
      expect(reported()).toEqual([undefined, 0, 0, 0]);
    });

    it('reports it once for requests at the same time', async () => {
      await use();
      time = MINUTE;
      await Promise.all(Array.from({ length: 50 }, use));
      await settled();
      expect(reported()).toEqual([undefined, 0]);
    });

    it('tries again after five seconds if the service is away', async () => {
      const { length } = bodies;
      const good = answer;
      await use();
      time = MINUTE;
      answer = fails(temporarilyUnavailable());
      for (let i = 0; i < 5; i++) await use().then(settled);
      expect(bodies.length - length).toBe(2);
      answer = good;
      time += 5000;
      await use().then(settled);
      expect(reported()).toEqual([undefined, 0, 0]);
    });

    it('asks for no token early for a request that is no use, since it would end with the session, too', async () => {
      await use();
      for (; time < LIMIT * 1000; time += MINUTE) expect((await noUse())!.token).toBe('token 1');
      expect(requests).toBe(1);
    });

    it.each([
      ['of this process', undefined, 610, 610],
      ['of another process, as the service says', 1500, 610, 300],
      ['of this process, if the service knows only an earlier one', 1100, 600, 600],
    ])(
      'leaves the end as it is for a request that is no use: last page request %s',
      async (_name, known, later, idle) => {
        answer = () =>
          Promise.resolve({ access_token: `token ${requests}`, expires_in: 600, idle_expires_in: LIMIT });
        await use();
        time = 10_000;
        await use();
        left = known;
        time += later * 1000;
        await noUse();
        expect(reported()).toEqual([undefined, idle]);
      },
    );

    it('leaves it so in a process that knows nothing yet', async () => {
      left = 1000;
      await noUse();
      expect(reported()).toEqual([undefined, 800]);
    });

    it('takes a page request that meets such a refresh for a use, too', async () => {
      left = 1000;
      await Promise.all([noUse(), use()]);
      await settled();
      await settled();
      expect(reported()).toEqual([undefined, 800, 0]);
    });

    it('ends the session when the service does', async () => {
      await use();
      time = LIMIT * 1000;
      answer = fails(new LatchkeyError('invalid_grant', 401, 'x'));
      expect(await use()).toBeUndefined();
    });

    it('reports nothing without it', async () => {
      answer = () => Promise.resolve({ access_token: `token ${requests}`, expires_in: 3600 });
      await use();
      time = 10 * MINUTE;
      await use();
      time = 3600_000;
      await noUse();
      expect(bodies).toEqual([{ refresh_token: 'r' }, { refresh_token: 'r' }]);
    });
  });
});
