import { createHash, randomUUID } from 'node:crypto';
import { toArrays, type SignIn } from '../../src/auth/sign-in/sign-in-columns.js';
import { SIGN_IN } from '../../src/auth/sign-in/sign-in.sql.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { signInOf } from '../support/sign-in.js';
import { sessionOf, userOf, useStatements } from '../support/statements.js';

const DAY_MS = 86_400_000;

/** The steps of src/auth/sign-in/sign-in.sql.ts, in their order. */
describe('the statement of a sign-in', () => {
  const { run, runUnsorted, insert, whileHeld, isBlocked } = useStatements();

  const execute = (
    signIns: readonly SignIn[],
    { lockTimeout = null as string | null, history = 1000, retention = 90, by = run } = {},
  ) => by(SIGN_IN, [lockTimeout, history, retention, ...toArrays(signIns)]);
  /** A sign-in of a new user, on a new device. */
  const newcomer = (fields: Partial<SignIn> = {}): SignIn => signInOf(randomUUID(), fields, randomUUID());
  /** Another sign-in of a user, on one device. */
  const again = ({ session, identity }: SignIn, fields: Partial<SignIn> = {}): SignIn =>
    signInOf(identity.providerUserId, { session: { ...session, sessionId: randomUUID() }, ...fields });
  const idOf = ({ session }: SignIn): string => session.userId;
  const refusalOf = async (signIn: SignIn): Promise<unknown> => (await execute([signIn]))[0]!['refused'];
  const rowsOf = (table: string, signIn: SignIn) =>
    run(`SELECT * FROM ${table} WHERE user_id = $1`, [idOf(signIn)]);

  const lock = (table: string) => `SELECT FROM ${table} WHERE user_id = $1 FOR UPDATE`;
  const TAKE = `INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
    VALUES ($1, gen_random_uuid(), $2, now(), '')`;
  const LOCKS = ['users', 'devices', 'channels'];

  it('1. `requested` limits the wait for a lock', async () => {
    const first = newcomer();
    await execute([first]);
    const waits = whileHeld([lock('users'), [idOf(first)]], () =>
      execute([again(first)], { lockTimeout: '1ms' }),
    );
    await expect(waits).rejects.toMatchObject({ code: '55P03' });
  });

  it.each([
    ['2. `locked_user` locks users', 'users'],
    ['8. `device` locks devices', 'devices'],
    ['9. `counter` locks channels', 'channels'],
    ['13. `access_token` locks proofs', 'access_tokens'],
  ])(
    '%s in the order of the keys, after what comes before and before what comes later',
    async (_step, table) => {
      const sorted = [newcomer(), newcomer(), newcomer(), newcomer()].toSorted((a, b) =>
        idOf(a) < idOf(b) ? -1 : 1,
      );
      for (const one of sorted.toReversed()) await execute([one]);
      const later = sorted.map((one) => again(one));
      const isLocked = (one: SignIn, where: string) =>
        where === 'access_tokens'
          ? isBlocked(TAKE, [idOf(one), one.accessToken.jti])
          : isBlocked(lock(where), [idOf(one)]);
      const held = later[1]!;
      const hold: [string, unknown[]] =
        table === 'access_tokens' ? [TAKE, [idOf(held), held.accessToken.jti]] : [lock(table), [idOf(held)]];
      const statement = () => execute(later.toReversed(), { by: runUnsorted });
      const look = async (): Promise<void> => {
        const tables = [...LOCKS, 'access_tokens'];
        for (const [i, one] of tables.entries()) {
          const at = tables.indexOf(table);
          const expected = i === at ? [true, true, false, false] : Array<boolean>(4).fill(i < at);
          expect([one, await Promise.all(later.map((signIn) => isLocked(signIn, one)))]).toEqual([
            one,
            expected,
          ]);
        }
      };
      const result = whileHeld(hold, statement, look);
      if (table === 'access_tokens') await expect(result).rejects.toMatchObject({ code: '23505' });
      else expect(await result).toHaveLength(4);
    },
  );

  it('2. `locked_user` lets pushes go on', async () => {
    const first = newcomer();
    await execute([first]);
    await whileHeld(
      [lock('channels'), [idOf(first)]],
      () => execute([again(first)]),
      async () => {
        expect(await isBlocked('SELECT FROM users WHERE user_id = $1 FOR KEY SHARE', [idOf(first)])).toBe(
          false,
        );
      },
    );
  });

  it('4. `checked` refuses a sign-in during which all sessions of the user end', async () => {
    const first = newcomer();
    await execute([first]);
    const end = 'UPDATE users SET sessions_ended_at = now() WHERE user_id = $1';
    const later = again(first, { requestedAt: Date.now() - DAY_MS });
    const rows = await whileHeld([end, [idOf(first)]], () => execute([later]));
    expect(rows).toMatchObject([{ refused: 'signed_out' }]);
    expect(await refusalOf(again(first, { requestedAt: Date.now() + DAY_MS }))).toBeNull();
  });

  it('4. `checked` finds an end of a user without a row', async () => {
    const signIn = newcomer();
    const name = createHash('sha256').update(idOf(signIn)).digest();
    await insert('logout_tokens', { token_hash: name, expires_at: 'infinity' });
    expect(await refusalOf(signIn)).toBe('signed_out');
    expect(await rowsOf('users', signIn)).toEqual([]);
  });

  it('3. `created_user` creates a user, unless another instance has done so concurrently', async () => {
    const signIn = newcomer();
    expect(await refusalOf(signIn)).toBeNull();
    expect(await rowsOf('users', signIn)).toMatchObject([
      { provider: 'corp', last_seen_at: expect.any(Date) },
    ]);

    const other = newcomer();
    const create = `INSERT INTO users (user_id, provider, provider_user_id, claims_version) VALUES ($1, 'corp', $2, 7)`;
    const rows = await whileHeld([create, [idOf(other), other.identity.providerUserId]], () =>
      execute([other]),
    );
    expect(rows).toMatchObject([{ refused: 'claims' }]);
    expect(await rowsOf('refresh_tokens', other)).toEqual([]);
  });

  it('4. `checked` and 5. `admitted`: a refused sign-in writes nothing, the others are written', async () => {
    const [suspended, other, changed, good] = [newcomer(), newcomer(), newcomer(), newcomer()];
    await execute([suspended, other, changed, good]);
    await run('UPDATE users SET suspended_at = now() WHERE user_id = $1', [idOf(suspended)]);
    await run('UPDATE users SET claims_version = 7 WHERE user_id = $1', [idOf(changed)]);
    const unknown = newcomer({
      claims: { version: 7, provider: {}, application: { a: 1 }, effective: { a: 1 } },
    });
    const rows = await execute([again(suspended), again(changed), unknown, again(good)]);
    const refused = new Map(rows.map(({ userId, refused: reason }) => [userId, reason]));
    expect(refused.get(idOf(suspended))).toBe('suspended');
    expect(refused.get(idOf(changed))).toBe('claims');
    expect(refused.get(idOf(unknown))).toBe('claims');
    expect(refused.get(idOf(good))).toBeNull();
    const sessions = [suspended, changed, unknown, good].map((one) => rowsOf('refresh_tokens', one));
    expect((await Promise.all(sessions)).map((all) => all.length)).toEqual([1, 1, 0, 2]);
    expect(await rowsOf('users', unknown)).toEqual([]);
  });

  describe('4. `checked`', () => {
    const fillSessions = (userId: string, columns: string) =>
      run(
        `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, idle_ends_at, signed_out_at)
         SELECT $1, gen_random_uuid(), '', ${columns} FROM generate_series(2, 10000)`,
        [userId],
      );

    it('counts live sessions', async () => {
      const first = newcomer();
      await execute([first]);
      await fillSessions(idOf(first), "'infinity', NULL, NULL");
      expect(await refusalOf(again(first))).toBe('session');
      await run('UPDATE refresh_tokens SET idle_ends_at = now() WHERE session_id = $1', [
        first.session.sessionId,
      ]);
      expect(await refusalOf(again(first))).toBeNull();
    });

    it('counts devices, if the device is new', async () => {
      const first = newcomer();
      await execute([first]);
      await run(
        'INSERT INTO devices (user_id, device_id) SELECT $1, gen_random_uuid() FROM generate_series(2, 2000)',
        [idOf(first)],
      );
      expect(await refusalOf(signInOf(first.identity.providerUserId, {}, randomUUID()))).toBe('device');
      expect(await refusalOf(again(first))).toBeNull();
    });

    it('has no bound for a user of step 3: what it sees is of a user who has been removed', async () => {
      const signIn = newcomer();
      await fillSessions(idOf(signIn), "'infinity', NULL, NULL"); // left by the removal
      expect(await refusalOf(signIn)).toBeNull();
    });
  });

  const named = (username: string): Pick<SignIn, 'identity'> => ({
    identity: parseIdentity({ provider_user_id: username, username, email: `${username}@example.org` }),
  });

  it('6. `updated_user` has the profile of now, and its first sign-in', async () => {
    const first = newcomer();
    await insert(
      'users',
      userOf(idOf(first), { provider_user_id: first.identity.providerUserId, last_seen_at: null }),
    );
    const [row] = await execute([again(first, named('Ada'))]);
    expect(row).toMatchObject({ reason: 'first sign-in' });
    expect(await rowsOf('users', first)).toMatchObject([
      {
        username: 'Ada',
        email: 'Ada@example.org',
        email_key: 'ada@example.org',
        last_seen_at: expect.any(Date),
      },
    ]);
  });

  it('7. `word`, `former_word` and `new_word` follow the profile', async () => {
    const [first, other] = [newcomer(named('Ada Lovelace')), newcomer(named('Bo'))];
    const text = 'SELECT word FROM user_words WHERE user_id = $1 ORDER BY 1';
    const words = async (signIn: SignIn) => (await run(text, [idOf(signIn)])).map(({ word }) => word);
    await execute([first, other]);
    expect(await words(first)).toEqual(['ADA LOVELACE', 'LOVELACE ADA']);
    const before = await words(other);
    await execute([again(first, named('Ada Byron')), again(other, named('Bo'))]);
    expect(await words(first)).toEqual(['ADA BYRON', 'BYRON ADA']);
    expect(await words(other)).toEqual(before);
    const { identity } = named('Ada Byron');
    await execute([again(first, { identity: { ...identity, avatarUrl: 'https://example.org/ada.png' } })]);
    expect(await words(first)).toEqual(['ADA BYRON', 'BYRON ADA']); // words that stay are not written again
  });

  it('8. `device` keeps what the client leaves out', async () => {
    const first = newcomer({ deviceName: 'Laptop', userAgent: 'Browser' });
    await execute([first]);
    await run("UPDATE devices SET last_seen_at = 'epoch' WHERE user_id = $1", [idOf(first)]);
    await execute([again(first, { userAgent: 'New' })]);
    const [device] = await rowsOf('devices', first);
    expect(device).toMatchObject({ device_name: 'Laptop', user_agent: 'New' });
    expect((device!['last_seen_at'] as Date).getTime()).toBeGreaterThan(0);
    const without = signInOf(randomUUID());
    await execute([without]);
    expect(await rowsOf('devices', without)).toEqual([]);
    expect(await rowsOf('channels', without)).toEqual([]);
  });

  it('9. `counter` takes the next offset, for 10. `device_event`', async () => {
    const first = newcomer();
    await execute([first]);
    const push = 'UPDATE channels SET last_offset = last_offset + 1 WHERE user_id = $1';
    const [row] = await whileHeld([push, [idOf(first)]], () => execute([again(first)]));
    expect(row).toMatchObject({ event_offset: '3' });
    const text = 'SELECT * FROM channel_events WHERE user_id = $1 ORDER BY event_offset';
    const events = await run(text, [idOf(first)]);
    expect(events.map(({ event, event_offset: offset }) => [event, offset])).toEqual([
      ['device.signed_in', '1'],
      ['device.signed_in', '3'],
    ]);
    expect(events[1]).toMatchObject({ id: row!['id'], data: row!['data'], sent_at: row!['sent_at'] });
  });

  it('11. `trimmed` are events beyond the history, at every hundredth offset', async () => {
    const first = newcomer();
    await execute([first]);
    await run('UPDATE channels SET last_offset = 98 WHERE user_id = $1', [idOf(first)]);
    await run(
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, n, gen_random_uuid(), 'n', '1', now(), now() FROM generate_series(2, 98) n`,
      [idOf(first)],
    );
    await execute([again(first)], { history: 3 });
    expect(await rowsOf('channel_events', first)).toHaveLength(99);
    await execute([again(first)], { history: 3 });
    const offsets = (await rowsOf('channel_events', first)).map((row) => Number(row['event_offset']));
    expect(offsets.toSorted((a, b) => a - b)).toEqual([97, 98, 99, 100]);
  });

  it('12. `session` ends with the session at the provider, if that is earlier', async () => {
    const at = Math.floor(Date.now() / 1000) + 600;
    const [first, bounded] = [
      newcomer({ refreshTokenTtl: 3600, idleTtl: 60 }),
      newcomer({ sessionExpiry: at }),
    ];
    await execute([first, bounded]);
    const [one] = await rowsOf('refresh_tokens', first);
    const [other] = await rowsOf('refresh_tokens', bounded);
    const { session_id, token_hash, ends_because } = one!;
    expect([session_id, token_hash, ends_because]).toEqual([
      first.session.sessionId,
      first.refreshTokenHash,
      null,
    ]);
    const seconds = (column: string) =>
      ((one![column] as Date).getTime() - (one!['created_at'] as Date).getTime()) / 1000;
    expect([seconds('expires_at'), seconds('idle_ends_at')]).toEqual([3600, 60]);
    expect(other).toMatchObject({
      expires_at: new Date(at * 1000),
      ends_because: 'session_expiry',
      idle_ends_at: null,
    });
  });

  it('13. `access_token` needs all rows of `counter`: the plan says so', async () => {
    const plan = (await run(`EXPLAIN (GENERIC_PLAN) ${SIGN_IN.text}`))
      .map((row) => row['QUERY PLAN'])
      .join('\n');
    const [, member] = /CTE access_token\n([^]*?)\n {2}CTE /.exec(plan)!;
    expect(member).toContain('CTE Scan on counter');
  });

  it('13. `access_token`: a used proof fails the statement as a whole', async () => {
    const [first, other] = [newcomer(), newcomer()];
    await execute([first]);
    const { accessToken } = first;
    await expect(execute([again(first, { accessToken }), other])).rejects.toMatchObject({ code: '23505' });
    expect(await rowsOf('users', other)).toEqual([]);
  });

  const from = (address: string): Pick<SignIn, 'origin'> => ({
    origin: { address, userAgent: null, requestId: null, actor: { type: 'user' } },
  });

  it('14. `news` are by the rows from before the statement', async () => {
    const first = newcomer(from('192.0.2.7'));
    expect(await execute([first])).toMatchObject([
      { reason: 'first sign-in', newDevice: true, newNetwork: true },
    ]);
    expect(await execute([again(first, from('192.0.2.8'))])).toMatchObject([
      { reason: null, newDevice: false, newNetwork: false },
    ]);
    for (const [earlier, reason] of [
      [0, null],
      [1, 'approved on another device'],
    ] as const) {
      const one = again(first);
      const begunAt = one.requestedAt - earlier;
      expect(await execute([{ ...one, begunAt }])).toMatchObject([{ reason }]);
    }
    expect(
      await execute([signInOf(first.identity.providerUserId, from('198.51.100.7'), randomUUID())]),
    ).toMatchObject([{ newDevice: true, newNetwork: true }]);
    expect(await execute([newcomer()], { retention: 0 })).toMatchObject([
      { newDevice: null, newNetwork: null },
    ]);
  });

  it('15. `audit_event` is written with the session, unless the trail is off', async () => {
    const [first, other] = [newcomer(from('192.0.2.7')), newcomer()];
    await execute([first]);
    expect(await rowsOf('audit_events', first)).toMatchObject([
      {
        id: first.session.sessionId,
        event: 'sign_in',
        reason: 'first sign-in',
        address: '192.0.2.7',
        new_device: true,
      },
    ]);
    await execute([other], { retention: 0 });
    expect(await rowsOf('audit_events', other)).toEqual([]);
  });

  it('a sign-in of a user who was removed during it makes the user anew', async () => {
    const first = newcomer();
    await execute([first]);
    await insert('refresh_tokens', sessionOf(idOf(first)));
    const remove = 'DELETE FROM users WHERE user_id = $1';
    const rows = await whileHeld([remove, [idOf(first)]], () => execute([again(first)]));
    expect(rows).toMatchObject([{ refused: null, reason: 'first sign-in' }]);
    expect(await rowsOf('users', first)).toHaveLength(1);
  });
});
