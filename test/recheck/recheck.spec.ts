import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { dump, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { checkOf, makeDue, RefreshingProvider } from './refreshing-provider.js';
import { use } from '../support/use.js';

/** The setting `recheck` (docs/guides/recheck.md), on two instances. */
describe('a provider with recheck', () => {
  let user: string;
  let userId: string;

  const provider = use(() => RefreshingProvider.start());
  const here = use(() =>
    startTestService({
      ...provider.env(),
      PROVIDERS_CORP_ALLOW: 'claim:groups=staff,user_id=boss',
      PUBLIC_URL: 'http://localhost:3000',
      SERVICE_KEYS: 'k'.repeat(32),
    }),
  );
  const there = use(() => here.another());
  beforeEach(() => {
    user = randomUUID();
    userId = deriveUserId('corp', user);
    provider.reset();
    provider.claims.set(user, { groups: ['staff'], roles: ['admin'] });
  });

  const refresh = ({ refresh_token }: Tokens): request.Test =>
    request(there.url).post('/oauth2/refresh').send({ refresh_token });
  const asked = async (count = 1): Promise<void> => {
    await makeDue(here.databaseUrl, userId);
    await until(() => provider.countOf(user) >= count, 'the provider is asked');
  };
  /** The answer was applied: the next call is due later. */
  const applied = (): Promise<void> =>
    until(async () => (await checkOf(here.databaseUrl, userId))?.fresh === true, 'the answer is applied');
  const isEnded = async (tokens: Tokens): Promise<boolean> =>
    (await bearer(there.url, tokens.access_token).get('/me')).status === 401;
  const ended = async (tokens: Tokens): Promise<void> => {
    await until(() => isEnded(tokens), 'the session ends');
    expect((await refresh(tokens)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await checkOf(here.databaseUrl, userId)).toBeUndefined();
  };

  it('is asked when a user with a session in use is due, once, by one of two instances', async () => {
    await provider.signIn(here.url, user);
    expect(provider.countOf(user)).toBe(0);
    await asked();
    await applied();
    expect(provider.countOf(user)).toBe(1);
    await asked(2); // the rotated token is used
    await applied();
    expect(provider.countOf(user)).toBe(2);
  });

  it('takes new claims within the time of a sign-out, without a sign-in', async () => {
    const tokens = await provider.signIn(here.url, user);
    expect(claimsOf(tokens.access_token)).toMatchObject({ roles: ['admin'] });
    const socket = await SocketClient.connect(there.url, tokens.access_token);
    provider.claims.set(user, { groups: ['staff'], roles: ['reader'] });
    await asked();
    await until(() => socket.received.some(({ event }) => event === 'claims.changed'));
    const { body } = await refresh(tokens).expect(200);
    expect(claimsOf((body as Tokens).access_token)).toMatchObject({ roles: ['reader'] });
    socket.socket.close();
  });

  it('ends all sessions of a user whom the provider refuses, on each instance, and the row', async () => {
    const [one, two] = [await provider.signIn(here.url, user), await provider.signIn(there.url, user)];
    const socket = await SocketClient.connect(there.url, one.access_token);
    provider.refusal = (login) => (login === user ? [400, { error: 'invalid_grant' }] : undefined);
    await asked();
    await socket.closed();
    await ended(one);
    await ended(two);
    const events = await query(
      here.databaseUrl,
      `SELECT actor_type, reason, count(*)::int FROM audit_events WHERE event = 'sign_out' AND user_id = $1
       GROUP BY 1, 2`,
      [userId],
    );
    expect(events).toEqual([{ actor_type: 'system', reason: 'provider_ended', count: 2 }]);
  });

  it.each([
    ['another sub', { sub: 'somebody-else' }],
    ['another id, the same sub', undefined],
  ])('ends the sessions if the answer is about another user: %s', async (_name, claims) => {
    const tokens = await provider.signIn(here.url, user);
    if (claims) provider.claims.set(user, { groups: ['staff'], ...claims });
    else {
      const change = `UPDATE provider_checks SET subject = '\\x00' WHERE user_id = $1`;
      await query(here.databaseUrl, change, [userId]);
    }
    await asked();
    await ended(tokens);
  });

  it('ends the sessions of a user whom allow refuses now', async () => {
    const tokens = await provider.signIn(here.url, user);
    provider.claims.set(user, { groups: [] });
    await asked();
    await ended(tokens);
  });

  it('does not accept the answer without an ID token about another user', async () => {
    const tokens = await provider.signIn(here.url, user);
    provider.identifies = false; // userinfo is about `nobody`
    await asked();
    await ended(tokens);
  });

  it.each([
    ['status 500', [500, 'oops']],
    ['HTML', [200, '<html>']],
    ['an unknown error', [400, { error: 'temporarily_unavailable' }]],
    ['wrong credentials', [401, { error: 'invalid_client' }]],
    ['no tokens', [200, {}]],
  ] as const)('goes on after %s, and asks again later', async (_name, said) => {
    const tokens = await provider.signIn(here.url, user);
    provider.refusal = (login) => (login === user ? said : undefined);
    await asked();
    await until(
      async () => (await checkOf(here.databaseUrl, userId))?.attempts === 1,
      'an attempt has failed',
    );
    expect(await checkOf(here.databaseUrl, userId)).toMatchObject({ due: false, failing: true });
    await refresh(tokens).expect(200);
    provider.reset();
    await asked(2);
    await until(async () => (await checkOf(here.databaseUrl, userId))?.failing === false, 'it works again');
  });

  it('ends the sessions if the provider has not answered for recheck_grace', async () => {
    const tokens = await provider.signIn(here.url, user);
    provider.refusal = (login) => (login === user ? [503, ''] : undefined);
    const since = `UPDATE provider_checks SET failing_since = now() - interval '86401 seconds' WHERE user_id = $1`;
    await query(here.databaseUrl, since, [userId]);
    await asked();
    await ended(tokens);
  });

  it('does not ask while no session is in use; a refresh makes the user due at once', async () => {
    const tokens = await provider.signIn(here.url, user);
    await query(here.databaseUrl, 'DELETE FROM access_tokens WHERE user_id = $1', [userId]);
    await makeDue(here.databaseUrl, userId);
    await until(async () => (await checkOf(here.databaseUrl, userId))?.due === null, 'the user rests');
    expect(provider.countOf(user)).toBe(0);
    await refresh(tokens).expect(200);
    await until(() => provider.countOf(user) === 1, 'the provider is asked');
    await applied();
  });

  it('without a refresh token, the session lasts for recheck_grace, unless one is stored', async () => {
    provider.gives = false;
    const expiry = async (): Promise<number[]> => {
      const rows = await query<{ left: number }>(
        here.databaseUrl,
        `SELECT extract(epoch FROM expires_at - now())::int AS left FROM refresh_tokens WHERE user_id = $1 ORDER BY 1`,
        [userId],
      );
      return rows.map(({ left }) => left);
    };
    await provider.signIn(here.url, user);
    const [short] = await expiry();
    expect(short).toBeLessThanOrEqual(86_400);
    expect(await checkOf(here.databaseUrl, userId)).toBeUndefined();
    expect(here.log.concat(there.log).join('').includes('sends no refresh token')).toBe(true);
    provider.gives = true;
    await provider.signIn(here.url, user);
    provider.gives = false;
    await provider.signIn(here.url, user);
    const [, ...long] = await expiry();
    expect(Math.min(...long)).toBeGreaterThan(86_400);
  });

  it('a sign-in during a call counts more than its answer', async () => {
    await provider.signIn(here.url, user);
    provider.pause = 1500;
    provider.refusal = () => [400, { error: 'invalid_grant' }];
    await asked();
    const tokens = await provider.signIn(here.url, user);
    provider.reset();
    await asked(2);
    await applied();
    await refresh(tokens).expect(200);
  });

  it('keeps its refresh token encrypted, in no dump, log, answer or page, and until the last session ends', async () => {
    const tokens = await provider.signIn(here.url, user);
    const other = await provider.signIn(here.url, user);
    await asked();
    await applied();
    const admin = bearer(here.url, 'k'.repeat(32));
    const answers = [
      await admin.get(`/users/${userId}`),
      await admin.get(`/users/${userId}/devices`),
      await admin.get('/audit'),
      await bearer(here.url, tokens.access_token).get('/me'),
      await bearer(here.url, tokens.access_token).get('/sessions'),
      await request(here.url).get('/metrics'),
    ].map(({ text }) => text);
    const all = [await dump(here.databaseUrl), ...here.log, ...there.log, ...answers].join('\n');
    expect(provider.sent.length).toBeGreaterThan(2);
    expect(provider.sent.filter((token) => all.includes(token))).toEqual([]);
    await bearer(here.url, tokens.access_token).post('/sign-out', {}).expect(204);
    expect(await checkOf(here.databaseUrl, userId)).toBeDefined();
    await bearer(here.url, other.access_token).post('/sign-out', {}).expect(204);
    expect(await checkOf(here.databaseUrl, userId)).toBeUndefined();
  });

  describe('with a session_expiry', () => {
    const expiry = async (): Promise<number> => {
      const [row] = await query<{ left: number }>(
        here.databaseUrl,
        'SELECT extract(epoch FROM expires_at - now())::int AS left FROM refresh_tokens WHERE user_id = $1',
        [userId],
      );
      return row!.left;
    };
    const answer = async (session_expiry: unknown): Promise<void> => {
      const before = provider.countOf(user);
      provider.claims.set(user, { groups: ['staff'], session_expiry });
      await asked(before + 1);
    };
    const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

    it('ends sessions earlier, and never later', async () => {
      await provider.signIn(here.url, user);
      await answer(inSeconds(5000));
      await applied();
      expect(await expiry()).toBeLessThanOrEqual(5000);
      await answer(inSeconds(9000));
      await applied();
      expect(await expiry()).toBeLessThanOrEqual(5000);
      await answer(10_413_792_000); // in 2300
      await applied();
      expect(await expiry()).toBeLessThanOrEqual(5000);
    });

    it('ends sessions and sockets at that second', async () => {
      const tokens = await provider.signIn(here.url, user);
      const socket = await SocketClient.connect(there.url, tokens.access_token);
      const end = inSeconds(3);
      await answer(end);
      await until(
        async () => (await checkOf(here.databaseUrl, userId))?.ends_at !== null,
        'the end is known',
      );
      expect(await isEnded(tokens)).toBe(false);
      await socket.closed();
      expect(Date.now() / 1000).toBeGreaterThanOrEqual(end);
      await ended(tokens);
    });

    it('in the past ends the sessions at once', async () => {
      const tokens = await provider.signIn(here.url, user);
      await answer(inSeconds(-3600));
      await ended(tokens);
    });

    it('that is no integer is no answer', async () => {
      const tokens = await provider.signIn(here.url, user);
      await answer('tomorrow');
      await until(
        async () => (await checkOf(here.databaseUrl, userId))?.attempts === 1,
        'an attempt has failed',
      );
      await refresh(tokens).expect(200);
    });
  });

  it('removes the row with the user', async () => {
    await provider.signIn(here.url, user);
    await bearer(here.url, 'k'.repeat(32)).delete(`/users/${userId}`).expect(204);
    expect(await checkOf(here.databaseUrl, userId)).toBeUndefined();
  });

  it('warns once of an outage, and nothing else fails', () => {
    const lines = here.log.concat(there.log).filter((line) => line.includes('gave no usable answer'));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(2); // one each
  });
});
