import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '../../src/audit/audit-event.js';
import { EndEvents } from '../../src/audit/end-events.js';
import { asBrowser, eventsOf, storedEvents } from '../support/audit.js';
import { query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { useService } from '../support/use.js';

const KEY = 'k'.repeat(32);
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/** What events say beside what has happened: what has changed, who has ended a session, what is new. */
describe('facts in the audit trail', () => {
  let user: string;

  const { provider, service } = useService({ LOG_LEVEL: 'info', SERVICE_KEYS: `support-tool=users:${KEY}` });
  beforeEach(() => {
    user = randomUUID();
  });

  const during = (count: number, work: () => Promise<unknown>) => eventsOf(service.databaseUrl, count, work);
  const as = (token: string) => asBrowser(service.url, token);
  const backend = () => as(KEY);
  const signInWith = (claims: Record<string, unknown>, at = service) => {
    provider.claims.set(user, claims);
    return signIn(at.url, user, { device_id: randomUUID() });
  };
  const changesDuring = async (work: () => Promise<unknown>): Promise<AuditEvent['changes'][]> =>
    (await during(1, work)).flatMap(({ event, changes }) => (event === 'claims_changed' ? [changes] : []));
  const put = ({ user_id }: Tokens, claims: object, at = service) =>
    asBrowser(at.url, KEY).put(`/users/${user_id}/claims`, { claims }).expect(200);

  it('claims_changed has the claims and entries that were added and removed, and their source', async () => {
    const tokens = await signInWith({ roles: ['editor', 'viewer'], plan: 'free' });
    expect(await changesDuring(() => put(tokens, { roles: ['owner'], seats: 3 }))).toEqual([
      { source: 'application', added: { roles: ['owner'], seats: 3 }, removed: {} },
    ]);
    const again = () => signInWith({ roles: ['viewer', 'auditor'], plan: 'pro' });
    expect(await changesDuring(again)).toEqual([
      {
        source: 'provider',
        added: { roles: ['auditor'], plan: 'pro' },
        removed: { roles: ['editor'], plan: 'free' },
      },
    ]);
    expect(await changesDuring(() => put(tokens, {}))).toEqual([
      { source: 'application', added: {}, removed: { roles: ['owner'], seats: 3 } },
    ]);
    const line = service.log.findLast((text) => text.includes('"claims_changed"'))!;
    expect(JSON.parse(line)).toMatchObject({ changes: { removed: { roles: ['owner'], seats: 3 } } });
    const large = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`claim${i}`, 'ü'.repeat(40)]));
    const [changes] = await changesDuring(() => put(tokens, large));
    expect(Object.keys(changes!.added)).toEqual(Object.keys(large));
    expect(Buffer.byteLength(JSON.stringify(changes))).toBeLessThanOrEqual(2048);
  });

  it('with AUDIT_CLAIMS=off, claims_changed has names only, also in the log', async () => {
    const DATABASE_URL = service.databaseUrl;
    const env = { ...provider.env(), LOG_LEVEL: 'info', SERVICE_KEYS: `support-tool=users:${KEY}` };
    const other = await startTestService({ ...env, DATABASE_URL, AUDIT_CLAIMS: 'off' });
    try {
      const secret = randomUUID();
      const tokens = await signInWith({ plan: `plan ${secret}` }, other);
      expect(
        await changesDuring(() => put(tokens, { salary: `1 ${secret}`, roles: [secret] }, other)),
      ).toEqual([{ source: 'application', added: { salary: '…', roles: '…' }, removed: {} }]);
      expect(await changesDuring(() => signInWith({ plan: `none ${secret}` }, other))).toEqual([
        { source: 'provider', added: { plan: '…' }, removed: { plan: '…' } },
      ]);
      expect(other.log.some((line) => line.includes('claims_changed'))).toBe(true);
      expect(other.log.join('')).not.toContain(secret);
      expect(JSON.stringify(await storedEvents(DATABASE_URL))).not.toContain(secret);
    } finally {
      await other.close();
    }
  });

  it('a removed user’s events keep no claims', async () => {
    const tokens = await signInWith({});
    await put(tokens, { plan: 'pro' });
    await backend().delete(`/users/${tokens.user_id}`).expect(204);
    const mine = (await storedEvents(service.databaseUrl)).filter(
      ({ user_id }) => user_id === tokens.user_id,
    );
    expect(mine.find(({ event }) => event === 'claims_changed')).not.toHaveProperty('changes');
  });

  it('sign_out names the device, or the session, that has signed another device out', async () => {
    const [laptop, phone] = [randomUUID(), randomUUID()];
    const on = (device_id?: string) => signIn(service.url, user, device_id ? { device_id } : {});
    const [one, alsoOne, other, without] = [await on(laptop), await on(laptop), await on(phone), await on()];
    const reasonsDuring = async (count: number, work: () => Promise<unknown>) =>
      new Map((await during(count, work)).map((event) => [event.session_id ?? event.event, event.reason]));
    const sid = ({ access_token }: Tokens) => claimsOf(access_token)['sid'] as string;
    const others = () => as(one.access_token).post('/sign-out', { scope: 'others' }).expect(204);
    expect(await reasonsDuring(2, others)).toEqual(
      new Map([
        [sid(other), `by device ${laptop}`],
        [sid(without), `by device ${laptop}`],
      ]),
    );
    expect(await reasonsDuring(2, () => as(one.access_token).post('/sign-out').expect(204))).toEqual(
      new Map([one, alsoOne].map((own) => [sid(own), undefined])),
    );
    const [later, last] = [await on(phone), await on()];
    const remove = () => as(last.access_token).delete(`/devices/${phone}`).expect(204);
    expect(await reasonsDuring(2, remove)).toEqual(
      new Map([
        [sid(later), `by session ${sid(last)}`],
        ['device_removed', `by session ${sid(last)}`],
      ]),
    );
  });

  describe('a refused refresh says how its session has ended', () => {
    const [laptop, phone] = [randomUUID(), randomUUID()];
    const revoke = (tokens: Tokens, reason?: string) =>
      asBrowser(service.url).post('/oauth2/revoke', { token: tokens.refresh_token, reason }).expect(200);

    it.each<[reason: string, end: (tokens: Tokens) => Promise<unknown>]>([
      ['ended by the user at TIME', (tokens) => as(tokens.access_token).post('/sign-out').expect(204)],
      ['ended by the user at TIME: user', (tokens) => revoke(tokens, 'user')],
      ['lost at TIME: key_lost', (tokens) => revoke(tokens, 'key_lost')],
      [
        'ended by device PHONE at TIME',
        async () => {
          const other = await signIn(service.url, user, { device_id: phone });
          await as(other.access_token).post('/sign-out', { scope: 'others' }).expect(204);
        },
      ],
      [
        'ended by service key support-tool at TIME',
        ({ user_id }) => backend().post(`/users/${user_id}/sign-out`, {}).expect(200),
      ],
      [
        'ended by service key support-tool at TIME: suspended',
        ({ user_id }) => backend().patch(`/users/${user_id}`, { suspended: true }).expect(200),
      ],
      [
        'ended by user ADMIN at TIME',
        async ({ user_id }) => {
          const admin = await signIn(service.url, 'an administrator');
          await put(admin, { roles: ['latchkey-support'] });
          const { body } = await asBrowser(service.url).post('/oauth2/refresh', admin).expect(200);
          await as((body as Tokens).access_token)
            .post(`/users/${user_id}/sign-out`, {})
            .expect(200);
        },
      ],
      [
        'expired at TIME',
        ({ user_id }) =>
          query(
            service.databaseUrl,
            `UPDATE refresh_tokens SET expires_at = now() - interval '1 minute' WHERE user_id = $1`,
            [user_id],
          ),
      ],
      // Its event is not there any more.
      [
        'ended at TIME: suspended',
        async ({ user_id }) => {
          await backend().patch(`/users/${user_id}`, { suspended: true }).expect(200);
          const own = `DELETE FROM audit_events WHERE user_id = $1 AND event = 'sign_out'`;
          await query(service.databaseUrl, own, [user_id]);
        },
      ],
    ])('%s', async (reason, end) => {
      const tokens = await signIn(service.url, user, { device_id: laptop });
      await end(tokens);
      const refresh = () => asBrowser(service.url).post('/oauth2/refresh', tokens).expect(401);
      const before = Date.now();
      let answer: unknown;
      const events = await during(1, async () => {
        answer = (await refresh()).body;
      });
      expect(answer).toEqual({
        error: 'invalid_grant',
        error_description: 'refresh token is unknown or has expired',
      });
      const refused = events.find(({ event }) => event === 'refresh_refused')!;
      const session_id = claimsOf(tokens.access_token)['sid'];
      expect(refused).toMatchObject({ user_id: tokens.user_id, session_id, device_id: laptop });
      const expected = reason.replace('TIME', TIME).replace('ADMIN', '[0-9a-f-]{36}').replace('PHONE', phone);
      expect(refused.reason).toMatch(new RegExp(`^${expected}$`));
      const [time] = new RegExp(TIME).exec(refused.reason!)!;
      expect(Math.abs(Date.parse(time) - before)).toBeLessThan(120_000);
    });

    it('whose event is among many others of the user', async () => {
      const ended = new Date();
      const [userId, sessionId] = [randomUUID(), randomUUID()];
      const write = (at: string, count: number, session: string) =>
        query(
          service.databaseUrl,
          `INSERT INTO audit_events (user_id, at, id, event, session_id, result, actor_type)
           SELECT $1, $2::timestamptz + ${at}, gen_random_uuid(), 'sign_out', $3, 'ok', 'user'
           FROM generate_series(1, $4::int)`,
          [userId, ended, session, count],
        );
      await write(`interval '-1 minute'`, 6000, sessionId); // of a session that had this id
      await write(`interval '1 second'`, 4000, randomUUID());
      await write(`interval '2 seconds'`, 6000, randomUUID());
      const events = service.app.get(EndEvents);
      const find = () => events.find(userId, sessionId, ended);
      try {
        expect(await find()).toBeUndefined();
        await write(`interval '1500 milliseconds'`, 1, sessionId);
        expect(await find()).toMatchObject({ event: 'sign_out', actor_type: 'user' });
        await write(`interval '1 second'`, 1000, randomUUID());
        expect(await find()).toBeUndefined(); // more than are read
      } finally {
        await query(service.databaseUrl, 'DELETE FROM audit_events WHERE user_id = $1', [userId]);
      }
    });
  });
});
