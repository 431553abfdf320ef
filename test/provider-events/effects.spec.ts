import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { hashOfName } from '../../src/token/sessions/recent-ends.js';
import { deriveUserId } from '../../src/identity/user-id.js';
import { connect, query } from '../support/database.js';
import { DirectoryClient } from '../support/directory.js';
import { Endings } from '../support/endings.js';
import { EventStreamReader } from '../support/event-stream.js';
import { Person } from '../support/oidc-issuer.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';
import { caep, providerEnv, push, risc, seconds, Transmitter } from './transmitter.js';
import { use } from '../support/use.js';

type Part = Record<string, unknown>;

const DIRECTORY_TOKEN = 'a-token-of-the-directory-with-enough-characters';
const SESSIONS = 10_000;

/** What security events do (docs/signals.md#effects), on two instances. */
describe('the effect of a security event', () => {
  const endings = new Endings();
  let user: string;
  afterAll(() => endings.run());

  const transmitter = use(() => Transmitter.start());
  const here = use(() =>
    startTestService(
      transmitter.env({
        PROVIDERS_CORP_SCIM_TOKEN: DIRECTORY_TOKEN,
        ...providerEnv('FEW', transmitter.url),
        PROVIDERS_FEW_SIGNALS: 'on',
        PROVIDERS_FEW_SIGNALS_END: 'session-revoked, account-purged',
        SERVICE_KEYS: SERVICE_KEY,
      }),
    ),
  );
  const there = use(() => here.another());
  const directory = new DirectoryClient(here, 'corp', DIRECTORY_TOKEN);
  beforeEach(() => {
    user = `user-${randomUUID()}`;
  });

  const admin = () => bearer(here.url, SERVICE_KEY);
  const isAlive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(there.url, access_token).get('/me')).status === 200;
  const sql = (text: string, ...values: unknown[]): Promise<Part[]> => query(here.databaseUrl, text, values);
  /** Sends an event about the user, or about another subject. */
  const send = async (
    event: string,
    body: Part = {},
    sub_id: Part = transmitter.subject(user),
    more: Part = {},
  ) => push(here, transmitter.set(event, body, { sub_id, ...more })).expect(202);
  const signIn = (on = there): Promise<Tokens> => transmitter.signIn(new Person(user), on);
  const exchange = async (): Promise<Part> =>
    (await transmitter.exchange(new Person(user), there)).body as Part;
  const reasons = async (): Promise<unknown[]> => {
    const text = `SELECT reason FROM audit_events WHERE event = 'signal_received' AND user_id = $1 ORDER BY at`;
    return (await sql(text, deriveUserId('corp', user))).map(({ reason }) => reason);
  };

  it('reaches refreshes, sockets and the feed on every instance', async () => {
    const tokens = await signIn();
    const feed = endings.after(await EventStreamReader.open(there.url, SERVICE_KEY), (one) => one.close());
    const socket = await SocketClient.connect(there.url, tokens.access_token);
    await send(caep('session-revoked'), { event_timestamp: seconds() });
    const { refresh_token } = tokens;
    const refreshed = await request(there.url).post('/oauth2/refresh').send({ refresh_token });
    expect(refreshed.body).toMatchObject({ error: 'invalid_grant' });
    await socket.closed();
    expect((await socket.next('session.ended')).data).toEqual({ reason: 'signed_out', cause: 'signal' });
    const sid = claimsOf(tokens.access_token)['sid'];
    await until(() => feed.of('ended').some((one) => one['session_id'] === sid && one['cause'] === 'signal'));
    expect(
      await sql(
        `SELECT actor_type, actor_name, reason FROM audit_events WHERE event = 'sign_out' AND user_id = $1`,
        tokens.user_id,
      ),
    ).toEqual([{ actor_type: 'signal', actor_name: 'corp', reason: 'signal' }]);
    expect(await reasons()).toEqual(['session-revoked: sessions ended: 1']);
    expect(await isAlive(await signIn())).toBe(true);
  });

  it.each<[string, Part]>([
    [caep('session-revoked'), {}],
    [caep('credential-change'), { credential_type: 'password', change_type: 'update' }],
    [caep('assurance-level-change'), { change_direction: 'decrease' }],
    [caep('assurance-level-change'), { previous_level: 'nist-aal2', current_level: 'nist-aal1' }],
    [caep('device-compliance-change'), { previous_status: 'compliant', current_status: 'not-compliant' }],
    [risc('account-disabled'), { reason: 'hijacking' }],
    [risc('account-purged'), {}],
    [risc('account-credential-change-required'), {}],
    [risc('credential-compromise'), { credential_type: 'password' }],
    [risc('sessions-revoked'), {}],
  ])('%s %j ends sessions', async (event, body) => {
    const tokens = await signIn();
    await send(event, body);
    expect(await isAlive(tokens)).toBe(false);
  });

  it.each<[string, () => Part, Part, boolean]>([
    ['long before the session', () => ({ event_timestamp: seconds() - 120 }), {}, true],
    ['shortly before the session', () => ({ event_timestamp: seconds() - 30 }), {}, false],
    ['by toe, long before', () => ({}), { toe: seconds() - 3600 }, true],
    ['in milliseconds, long before', () => ({ event_timestamp: Date.now() - 3_600_000 }), {}, true],
    ['in milliseconds, now', () => ({ event_timestamp: Date.now() }), {}, false],
    ['that is no number: iat', () => ({ event_timestamp: 'yesterday' }), {}, false],
  ])('an event with a time %s', async (_, body, claims, stays) => {
    const tokens = await signIn();
    await send(caep('session-revoked'), body(), transmitter.subject(user), claims);
    expect(await isAlive(tokens)).toBe(stays);
  });

  it('of a complex subject: the session of the browser, also without its user; ALL, as Keycloak says it, is all of them', async () => {
    const sidOf = () => claimsOf(transmitter.proxy.tokens.at(-1)!['id_token'] as string)['sid'];
    const one = await signIn();
    const complex = (id: unknown) => ({
      format: 'complex',
      user: transmitter.subject(user),
      session: { format: 'opaque', id },
    });
    const sid = sidOf();
    const two = await signIn();
    await send(caep('session-revoked'), {}, complex(sid));
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, true]);
    await send(caep('session-revoked'), {}, complex('unknown'));
    expect(await isAlive(two)).toBe(true);
    const three = await signIn();
    await send(caep('session-revoked'), {}, { format: 'complex', session: complex(sidOf()).session });
    expect([await isAlive(two), await isAlive(three)]).toEqual([true, false]);
    await send(caep('session-revoked'), {}, complex('ALL'));
    expect(await isAlive(two)).toBe(false);
  });

  it('of an opaque subject, and of an e-mail address in any case', async () => {
    const one = await signIn();
    await send(caep('session-revoked'), {}, { format: 'opaque', id: user });
    expect(await isAlive(one)).toBe(false);
    const two = await signIn();
    await send(caep('session-revoked'), {}, { format: 'email', email: `${user.toUpperCase()}@idp.example` });
    expect(await isAlive(two)).toBe(false);
  });

  it.each<[string, (sub: string) => Part, Part]>([
    ['the token', (sub) => transmitter.subject(sub), { sub: null, exp: null, nbf: null, toe: null }],
    ['the subject', (sub) => ({ ...transmitter.subject(sub), email: null, user: null, session: null }), {}],
    [
      'a complex one',
      (sub) => ({ format: 'complex', user: transmitter.subject(sub), session: null, tenant: null }),
      {},
    ],
  ])('with null in members of %s that are not used', async (_, subject, claims) => {
    const tokens = await signIn();
    await send(caep('session-revoked'), { event_timestamp: null, subject: null }, subject(user), claims);
    expect(await isAlive(tokens)).toBe(false);
    expect(await reasons()).toEqual(['session-revoked: sessions ended: 1']);
  });

  it('with null in place of a level, and of the subject beside the one of the event', async () => {
    const tokens = await signIn();
    const levels = { change_direction: null, previous_level: 'nist-aal2', current_level: 'nist-aal1' };
    const subject = transmitter.subject(user);
    const set = transmitter.set(caep('assurance-level-change'), { ...levels, subject }, { sub_id: null });
    await push(here, set).expect(202);
    expect(await isAlive(tokens)).toBe(false);
  });

  it('of an e-mail address that two users of the provider have: none', async () => {
    const tokens = await signIn();
    const other = await transmitter.signIn(new Person(`other-${user}`), there);
    const [one] = await sql('SELECT email, email_key FROM users WHERE user_id = $1', tokens.user_id);
    await sql(
      'UPDATE users SET email = $2, email_key = $3 WHERE user_id = $1',
      other.user_id,
      one!['email'],
      one!['email_key'],
    );
    await send(caep('session-revoked'), {}, { format: 'email', email: `${user}@idp.example` });
    expect([await isAlive(tokens), await isAlive(other)]).toEqual([true, true]);
    const recorded = await sql(
      `SELECT FROM audit_events WHERE reason = 'session-revoked: recorded only: several users have the e-mail address'`,
    );
    expect(recorded).toHaveLength(1);
  });

  it('stays within its provider, and signals_end restricts what ends sessions', async () => {
    const person = new Person(user);
    const few = (await transmitter.exchange(person, there, {}, 'few')).body as Tokens;
    await send(caep('session-revoked'));
    expect(await isAlive(few)).toBe(true);
    const sub_id = transmitter.subject(user);
    await push(here, transmitter.set(caep('credential-change'), {}, { sub_id }), 'few').expect(202);
    expect(await isAlive(few)).toBe(true);
    await push(here, transmitter.set(caep('session-revoked'), {}, { sub_id }), 'few').expect(202);
    expect(await isAlive(few)).toBe(false);
  });

  it('account-disabled that ends no sessions reaches a sign-in that is being written', async () => {
    const holder = endings.after(await connect(here.databaseUrl), (one) => one.end());
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE refresh_tokens IN SHARE ROW EXCLUSIVE MODE');
    const answer = transmitter.exchange(new Person(user), there, {}, 'few');
    const waiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'refresh_tokens'::regclass`;
    await until(async () => (await sql(waiting)).length > 0);
    const sub_id = transmitter.subject(user);
    await push(here, transmitter.set(risc('account-disabled'), {}, { sub_id }), 'few').expect(202);
    await holder.query('ROLLBACK');
    expect((await answer).body).toMatchObject({ error: 'access_denied' });
    const live = 'SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL';
    expect(await sql(live, deriveUserId('few', user))).toEqual([]);
  });

  // Nobody has the address yet: the user is written after the event.
  it.each<[string, () => Part]>([
    ['a subject', () => transmitter.subject(user)],
    ['an e-mail address', () => ({ format: 'email', email: `${user.toUpperCase()}@idp.example` })],
  ])('reaches a sign-in that is in progress at the provider, by %s', async (_, subject) => {
    const person = new Person(user);
    let sent: Promise<unknown> = Promise.resolve();
    const intercept = transmitter.proxy.intercept;
    transmitter.proxy.tamper = (path) => {
      // The answer of the token endpoint waits until the event was applied.
      if (path === '/token') sent = send(caep('session-revoked'), {}, subject());
      return undefined;
    };
    try {
      const { status, body } = await transmitter.exchange(person, there);
      await sent;
      const stayed = status === 200 && (await isAlive(body as Tokens));
      expect(stayed).toBe(false);
    } finally {
      transmitter.proxy.intercept = intercept;
      transmitter.proxy.tamper = () => undefined;
    }
  });

  it(`ends ${SESSIONS} sessions of one user with one token, which is used then`, async () => {
    const { user_id } = await signIn();
    await sql(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, provider_subject)
       SELECT $1, gen_random_uuid(), '\\x00', now() + interval '1 day', $2 FROM generate_series(2, ${SESSIONS})`,
      user_id,
      hashOfName('corp', user),
    );
    const token = transmitter.set(caep('session-revoked'), {}, { sub_id: transmitter.subject(user) });
    const others = await Promise.all([push(here, token), push(there, token)]);
    expect(others.map(({ status }) => status)).toEqual([202, 202]);
    const open = await sql(
      'SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL',
      user_id,
    );
    expect(open).toHaveLength(0);
    expect(await reasons()).toHaveLength(1);
  });

  describe('account-disabled', () => {
    const at = (time: number) => ({ event_timestamp: time });

    it('refuses sign-ins until account-enabled', async () => {
      const tokens = await signIn();
      await send(risc('account-disabled'), at(seconds()));
      expect(await isAlive(tokens)).toBe(false);
      expect(await exchange()).toMatchObject({ error: 'access_denied' });
      await until(async () => {
        const text = `SELECT FROM audit_events WHERE event = 'sign_in_refused' AND user_id = $1 AND reason = 'signal'`;
        return (await sql(text, tokens.user_id)).length === 1;
      });
      await send(risc('account-enabled'), at(seconds() + 1));
      expect(await exchange()).toHaveProperty('access_token');
      expect(await reasons()).toEqual([
        'account-disabled: sign-ins refused, sessions ended: 1',
        'account-enabled: sign-ins permitted',
      ]);
    });

    it('reaches a user who has not signed in yet', async () => {
      await send(risc('account-disabled'));
      expect(await exchange()).toMatchObject({ error: 'access_denied' });
      expect(await sql('SELECT FROM users WHERE user_id = $1', deriveUserId('corp', user))).toEqual([]);
    });

    it('by e-mail address, also for another subject of the same user', async () => {
      await signIn();
      await send(risc('account-disabled'), {}, { format: 'email', email: `${user}@idp.example` });
      expect(await exchange()).toMatchObject({ error: 'access_denied' });
    });

    it.each([
      [
        'the later one holds',
        [
          ['disabled', 20],
          ['enabled', 10],
        ],
        false,
      ],
      [
        'the later one holds, in order',
        [
          ['disabled', 10],
          ['enabled', 20],
        ],
        true,
      ],
      [
        'reordered',
        [
          ['enabled', 20],
          ['disabled', 10],
        ],
        true,
      ],
      [
        'of two at one time the refusal',
        [
          ['disabled', 10],
          ['enabled', 10],
        ],
        false,
      ],
      [
        'of two at one time the refusal, reordered',
        [
          ['enabled', 10],
          ['disabled', 10],
        ],
        false,
      ],
    ] as const)('%s', async (_, events, mayEnter) => {
      const since = seconds() - 100;
      for (const [what, time] of events) await send(risc(`account-${what}`), at(since + time));
      expect('access_token' in (await exchange())).toBe(mayEnter);
    });

    it('is lifted by PATCH {suspended: false}, whatever an older event says', async () => {
      const { user_id } = await signIn();
      await send(risc('account-disabled'), at(seconds() - 5));
      await admin().patch(`/users/${user_id}`, { suspended: false }).expect(200);
      expect(await exchange()).toHaveProperty('access_token');
      const [restored] = await sql(
        `SELECT actor_type FROM audit_events WHERE event = 'user_restored' AND user_id = $1`,
        user_id,
      );
      expect(restored).toEqual({ actor_type: 'service_key' });
      await send(risc('account-disabled'), at(seconds() - 3));
      expect(await exchange()).toHaveProperty('access_token');
    });

    it('is lifted by the directory that lets the user in again, not by another change of it', async () => {
      const id = await directory.create('/Users', { userName: user, externalId: user });
      await signIn();
      await send(risc('account-disabled'), at(seconds() - 2));
      await directory.patch(`/Users/${id}`, { op: 'replace', value: { displayName: 'Ada' } }).expect(200);
      await sql(`UPDATE directory_users SET activated_at = now() - interval '1 hour' WHERE id = $1`, id);
      expect(await exchange()).toMatchObject({ error: 'access_denied' });
      await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200);
      expect(await exchange()).toMatchObject({ error: 'access_denied' });
      await directory.patch(`/Users/${id}`, { op: 'replace', value: { active: true } }).expect(200);
      expect(await exchange()).toHaveProperty('access_token');
    });

    it('outlives the removal of the user, until PATCH', async () => {
      const { user_id } = await signIn();
      await send(risc('account-disabled'));
      await admin().delete(`/users/${user_id}`).expect(204);
      expect(await exchange()).toMatchObject({ error: 'access_denied' });
      const { body } = await admin().get('/users/removed').expect(200);
      expect((body as { users: Part[] }).users.map((one) => one['user_id'])).toContain(user_id);
      await admin().patch(`/users/${user_id}`, { suspended: false }).expect(204);
      expect(await exchange()).toHaveProperty('access_token');
    });

    it('a removed user whose account is not disabled leaves nothing', async () => {
      const { user_id } = await signIn();
      await admin().delete(`/users/${user_id}`).expect(204);
      expect(await sql('SELECT FROM signal_accounts WHERE user_id = $1', user_id)).toEqual([]);
      expect(await sql('SELECT FROM user_words WHERE user_id = $1', user_id)).toEqual([]);
      expect(await sql('SELECT FROM users WHERE user_id = $1', user_id)).toEqual([]);
    });
  });

  describe('token-claims-change', () => {
    const claims = async (): Promise<unknown> => {
      const rows = await sql('SELECT claims FROM users WHERE user_id = $1', deriveUserId('corp', user));
      return rows[0]!['claims'];
    };
    const change = (sent: Part, time = seconds()) =>
      send(caep('token-claims-change'), { event_timestamp: time, claims: sent });

    it('counts as the claims of the provider, live', async () => {
      const tokens = await signIn();
      const socket = await SocketClient.connect(there.url, tokens.access_token);
      await change({ realm: { roles: ['editor'] }, plan: 'gold', other: 'x' });
      expect((await socket.next('claims.changed')).data).toEqual({
        claims: { roles: ['editor'], plan: 'gold' },
      });
      expect(await claims()).toEqual({ roles: ['editor'], plan: 'gold' });
      await change({ plan: null }, seconds());
      expect(await claims()).toEqual({ roles: ['editor'] });
      expect(await isAlive(tokens)).toBe(true);
      expect((await reasons())[0]).toBe('token-claims-change: claims applied');
      socket.close();
    });

    it('an older one has no effect: than another, or than a sign-in', async () => {
      await signIn();
      await change({ plan: 'gold' }, seconds() + 20);
      await change({ plan: 'tin' }, seconds() + 10);
      expect(await claims()).toEqual({ plan: 'gold' });
      await signIn();
      await change({ plan: 'tin' }, seconds() - 60);
      expect(await claims()).toBeNull();
    });

    it('stays under the directory and the application', async () => {
      const { user_id } = await signIn();
      await admin()
        .put(`/users/${user_id}/claims`, { claims: { plan: 'of the app' } })
        .expect(200);
      const id = await directory.create('/Users', { userName: user, externalId: user });
      await directory.create('/Groups', { displayName: `g-${user}`, members: [{ value: id }] });
      await change({ realm: { roles: ['editor'] }, groups: ['of the provider'], plan: 'gold' });
      expect(await claims()).toEqual({ roles: ['editor'], groups: [`g-${user}`], plan: 'of the app' });
    });

    it('of a user who has not signed in: only recorded; deep and large claims are cut', async () => {
      await change({ plan: 'gold' });
      await signIn();
      await change({ plan: 'x'.repeat(30_000), realm: { roles: ['editor'] } });
      expect(await claims()).toEqual({ roles: ['editor'] });
    });
  });
});
