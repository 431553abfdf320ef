import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, beginSignIn, claimsOf, isBusy, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';

/** `MAX_SESSIONS` (docs/guides/session-length.md#number-of-sessions), on instances with different values. */
describe('a limit of sessions', () => {
  const endings = new Endings();
  let one: TestService;
  let alsoOne: TestService;
  let three: TestService;
  let user: string;

  beforeAll(async () => {
    const provider = endings.after(await StubProvider.start(), (stub) => stub.close());
    const env = { ...provider.env(), PUBLIC_URL: 'http://localhost:3000' };
    one = endings.after(await startTestService({ ...env, MAX_SESSIONS: '1' }), (it) => it.close());
    const start = async (most: string): Promise<TestService> =>
      endings.after(
        await startTestService({ ...env, MAX_SESSIONS: most, DATABASE_URL: one.databaseUrl }),
        (it) => it.close(),
      );
    alsoOne = await start('1');
    three = await start('3');
  });
  afterAll(() => endings.run());
  beforeEach(() => (user = randomUUID()));

  const isLive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(one.url, access_token).get('/me')).status === 200;
  const used = (tokens: Tokens, ago: string): Promise<unknown> =>
    query(
      one.databaseUrl,
      `UPDATE refresh_tokens SET last_used_at = now() - $2::interval WHERE session_id = $1`,
      [claimsOf(tokens.access_token)['sid'], ago],
    );

  it('ends the session that was used least recently, and says why', async () => {
    const sessions: Tokens[] = [];
    for (let i = 0; i < 3; i++) sessions.push(await signIn(three.url, user, { device_id: randomUUID() }));
    const [first, second, third] = sessions as [Tokens, Tokens, Tokens];
    await used(first, '1 min');
    await used(second, '2 min');
    const socket = await SocketClient.connect(one.url, second.access_token);
    const fourth = (await signIn(three.url, user)) as Tokens & { refresh_token_expires_in: number };
    await socket.closed();
    expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'too_many' });
    expect(await Promise.all([first, second, third, fourth].map(isLive))).toEqual([true, false, true, true]);
    expect(fourth.refresh_token_expires_in).toBe(2_592_000);
    expect(fourth).not.toHaveProperty('idle_expires_in');
    const events = await query(
      one.databaseUrl,
      `SELECT reason, actor_type FROM audit_events WHERE user_id = $1 AND event = 'sign_out'`,
      [first.user_id],
    );
    expect(events).toEqual([{ reason: 'too_many', actor_type: 'system' }]);
  });

  it('ends a session of the same device first', async () => {
    const device_id = randomUUID();
    const old = await signIn(three.url, user, { device_id: randomUUID() });
    const same = await signIn(three.url, user, { device_id });
    const other = await signIn(three.url, user);
    await used(old, '1 day');
    const again = await signIn(three.url, user, { device_id });
    expect(await Promise.all([old, same, other, again].map(isLive))).toEqual([true, false, true, true]);
  });

  it('does not count sessions past their idle end', async () => {
    const idle = await signIn(three.url, user);
    await query(
      one.databaseUrl,
      `UPDATE refresh_tokens SET idle_ends_at = now() - interval '1 s' WHERE session_id = $1`,
      [claimsOf(idle.access_token)['sid']],
    );
    const others = [];
    for (let i = 0; i < 3; i++) others.push(await signIn(three.url, user));
    expect(await Promise.all(others.map(isLive))).toEqual([true, true, true]);
  });

  it('holds for 12 concurrent sign-ins on two instances: one session is left', async () => {
    for (let round = 0; round < 3; round++) {
      const states = await Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const { url } = i % 2 ? one : alsoOne;
          return { url, state: await beginSignIn(url) };
        }),
      );
      const answers = await Promise.all(
        states.map(({ url, state }) => request(url).post('/oauth2/token').send({ code: user, state })),
      );
      // Each waits for the lock of the user: on a busy machine the last ones are told to come again.
      const busy = answers.filter(isBusy);
      expect(answers.map(({ status }) => status)).toEqual(
        answers.map((answer) => (isBusy(answer) ? 500 : 200)),
      );
      const again = busy.length > 0 ? [await signIn(one.url, user)] : [];
      const all = [...answers.map(({ body }) => body as Tokens), ...again].filter(
        (tokens) => tokens.access_token,
      );
      expect((await Promise.all(all.map(isLive))).filter(Boolean)).toHaveLength(1);
    }
  });

  it('that was lowered holds from the next sign-in on', async () => {
    const before = [];
    for (let i = 0; i < 3; i++) before.push(await signIn(three.url, user));
    const last = await signIn(one.url, user);
    expect(await Promise.all([...before, last].map(isLive))).toEqual([false, false, false, true]);
  });
});
