import { randomUUID } from 'node:crypto';
import * as statements from '../../src/device/sign-out.sql.js';
import { programDeviceId } from '../../src/platform/http/parameters/uuid.js';
import { sessionOf, sortedIds, userOf, useStatements } from '../support/statements.js';

const { LOCK_USER, LOCK_SIGNED_OUT_USER, END_SESSION, END_SESSIONS, END_EXCESS, SLICE } = statements;
const [PHONE, LAPTOP] = [randomUUID(), randomUUID()];

/** The steps of a sign-out: src/device/sign-out.sql.ts. */
describe('the statements of a sign-out', () => {
  const { run, runUnsorted, insert, whileHeld, isBlocked } = useStatements();
  let userId: string;
  beforeEach(async () => {
    userId = (await insert('users', userOf())).user_id;
  });

  const begin = async (deviceId: string | null = null, columns: object = {}): Promise<string> =>
    (await insert('refresh_tokens', sessionOf(userId, { device_id: deviceId, ...columns }))).session_id;
  const idsOf = (rows: readonly Record<string, unknown>[]) => new Set(rows.map(({ sessionId }) => sessionId));
  const end = async (scope: string, sessionId: string | null, deviceId: string | null) =>
    idsOf(await run(END_SESSIONS, [userId, scope, sessionId, deviceId, 'cause']));
  const OPEN =
    'SELECT session_id AS "sessionId" FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL';
  const open = async () => idsOf(await run(OPEN, [userId]));
  const LOCK = 'SELECT FROM users WHERE user_id = $1 FOR NO KEY UPDATE';
  const SIGN_OUT = 'UPDATE refresh_tokens SET signed_out_at = now() WHERE user_id = $1';
  const HOUR_MS = 3_600_000;
  const past = new Date(Date.now() - HOUR_MS);

  it('1. `HAS_OPEN_SESSION` and `HAVE_OPEN_SESSIONS` look without a lock', async () => {
    const session = await begin(PHONE);
    const ended = await begin(LAPTOP, { signed_out_at: past });
    const looks = [
      ['session', session, null],
      ['session', ended, null],
      ['session', randomUUID(), null],
      ['device', null, PHONE],
      ['device', null, LAPTOP],
    ];
    const expected = [true, false, false, true, false];
    // Not while a sign-out is in progress.
    await whileHeld(
      [SIGN_OUT, [userId]],
      () => run(SIGN_OUT, [userId]),
      async () => {
        const one = await Promise.all(
          looks.map((look) => run(statements.HAS_OPEN_SESSION, [userId, ...look])),
        );
        expect(one.map(([row]) => row!['hasOpen'])).toEqual(expected);
        const columns = [0, 1, 2].map((i) => looks.map((look) => look[i]));
        const all = await run(statements.HAVE_OPEN_SESSIONS, [looks.map(() => userId), ...columns]);
        expect(all.map(({ hasOpen }) => hasOpen)).toEqual(expected);
      },
    );
  });

  describe.each([
    ['LOCK_USER', (): Promise<Record<string, unknown>[]> => run(LOCK_USER, [userId])],
    ['LOCK_SIGNED_OUT_USER', () => run(LOCK_SIGNED_OUT_USER, [userId, null])],
  ])('2. `%s`', (_name, lock) => {
    it('waits for a sign-in, whose session the next statement sees', async () => {
      let session: unknown;
      await whileHeld([LOCK, [userId]], lock, async (holder) => {
        const values = [userId, randomUUID()];
        const text = `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
          VALUES ($1, $2, '', 'infinity') RETURNING session_id`;
        [{ session_id: session }] = (await holder.query<{ session_id: string }>(text, values)).rows as [
          { session_id: string },
        ];
      });
      expect(await end('all', null, null)).toEqual(new Set([session]));
    });

    it('waits for a removal, and finds no user', async () => {
      const rows = await whileHeld([LOCK, [userId]], lock, (holder) =>
        holder.query('UPDATE users SET removed_at = now() WHERE user_id = $1', [userId]),
      );
      expect(rows).toEqual([]);
    });
  });

  it('2. `LOCK_USER` is waited for by sign-ins and removals, not by pushes', async () => {
    await whileHeld(
      [LOCK_USER.text, [userId]],
      () => run(LOCK, [userId]),
      async () => {
        expect(await isBlocked('SELECT FROM users WHERE user_id = $1 FOR KEY SHARE', [userId])).toBe(false);
      },
    );
  });

  it('2. `LOCK_SIGNED_OUT_USER` stores the latest begin of a sign-in that is meant', async () => {
    const endedAt = async () =>
      (await run('SELECT sessions_ended_at AS at FROM users WHERE user_id = $1', [userId]))[0]!['at'] as Date;
    await run(LOCK_SIGNED_OUT_USER, [userId, past]);
    expect(await endedAt()).toEqual(past);
    await run(LOCK_SIGNED_OUT_USER, [userId, null]);
    const now = await endedAt();
    expect(now.getTime()).toBeGreaterThan(past.getTime());
    for (const until of [past, new Date(Date.now() + HOUR_MS)]) {
      await run(LOCK_SIGNED_OUT_USER, [userId, until]);
      expect((await endedAt()).getTime()).toBeGreaterThanOrEqual(now.getTime());
      expect((await endedAt()).getTime()).toBeLessThan(now.getTime() + HOUR_MS / 2);
    }
  });

  const PERSONAL = { id_token: Buffer.alloc(9), address: '192.0.2.7', user_agent: 'Browser' };
  const endedRow = async (sessionId: string) => {
    const text = `SELECT *, expires_at <= now() AS expired FROM refresh_tokens WHERE session_id = $1`;
    return (await run(text, [sessionId]))[0]!;
  };
  const ENDED = { expired: true, ends_because: 'cause', id_token: null, address: null, user_agent: null };

  it('3. `END_SESSION` ends one session, once, and removes its personal data', async () => {
    const [session, other] = [await begin(PHONE, PERSONAL), await begin()];
    const values = [userId, session, 'cause'];
    expect(await run(END_SESSION, values)).toEqual([{ sessionId: session, deviceId: PHONE }]);
    expect(await endedRow(session)).toMatchObject({ signed_out_at: expect.any(Date), ...ENDED });
    expect(await run(END_SESSION, values)).toEqual([]);
    expect(await open()).toEqual(new Set([other]));
  });

  it('3. `END_SESSION` leaves an expiry that has passed', async () => {
    const session = await begin(null, { expires_at: past });
    await run(END_SESSION, [userId, session, 'cause']);
    expect(await endedRow(session)).toMatchObject({ expires_at: past });
  });

  it.each<[string, (all: string[]) => string[], isOnDevice?: boolean]>([
    ['all', (all) => all],
    ['device', ([phone, second]) => [phone!, second!]],
    ['others', ([, , laptop, none]) => [laptop!, none!]],
    ['others', ([phone, second, laptop]) => [phone!, second!, laptop!], false],
  ])('3. `END_SESSIONS` ends those of the scope %s', async (scope, expected, isOnDevice = true) => {
    const all = [await begin(PHONE, PERSONAL), await begin(PHONE), await begin(LAPTOP), await begin()];
    const [session, device] = isOnDevice ? [all[0]!, PHONE] : [all[3]!, null];
    const ended = expected(all);
    expect(await end(scope, session, device)).toEqual(new Set(ended));
    expect(await open()).toEqual(new Set(all.filter((one) => !ended.includes(one))));
    for (const one of ended) expect(await endedRow(one)).toMatchObject(ENDED);
  });

  it('3. `END_SESSIONS` ends a slice', async () => {
    await run(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at)
       SELECT $1, gen_random_uuid(), '', 'infinity' FROM generate_series(0, $2::int)`,
      [userId, SLICE],
    );
    expect((await end('all', null, null)).size).toBe(SLICE);
    expect((await end('all', null, null)).size).toBe(1);
  });

  it.each<[string, () => Promise<Record<string, unknown>[]>]>([
    ['END_SESSIONS', () => run(END_SESSIONS, [userId, 'all', null, null, 'cause'])],
    ['END_EXCESS', () => run(END_EXCESS, [userId, randomUUID(), null, 0, 'cause', false])],
    [
      'END_SESSIONS_AT_PROVIDER',
      () => run(statements.END_SESSIONS_AT_PROVIDER, [userId, null, null, 'cause', null]),
    ],
  ])(
    '3. `%s` waits for a locked session, and leaves one that has ended by then',
    async (_name, statement) => {
      const [ended, other] = [await begin(PHONE), await begin(LAPTOP)];
      const held: [string, unknown[]] = [`${SIGN_OUT} AND session_id = $2`, [userId, ended]];
      expect(idsOf(await whileHeld(held, statement))).toEqual(new Set([other]));
    },
  );

  it('3. `END_EXCESS` ends those of the device first, then by last use; the given one stays', async () => {
    const use = (hours: number) => ({ last_used_at: new Date(Date.now() - hours * HOUR_MS) });
    const [given, same, recent, old] = [
      await begin(PHONE, use(9)),
      await begin(PHONE, use(1)),
      await begin(LAPTOP, use(2)),
      await begin(null, use(3)),
    ];
    await begin(LAPTOP, { expires_at: past });
    await begin(LAPTOP, { idle_ends_at: past });
    const excess = async (most: number) =>
      idsOf(await run(END_EXCESS, [userId, given, PHONE, most, 'cause', false]));
    expect(await excess(4)).toEqual(new Set());
    expect(await excess(3)).toEqual(new Set([same]));
    expect(await excess(2)).toEqual(new Set([old]));
    await run(END_SESSION, [userId, given, 'cause']);
    expect(await excess(1)).toEqual(new Set());
    expect(await excess(0)).toEqual(new Set([recent]));
  });

  it('3. `END_EXCESS` counts sessions of programs apart', async () => {
    const program = programDeviceId(Buffer.alloc(32, 1));
    const [phone, own, other] = [
      await begin(PHONE),
      await begin(program),
      await begin(programDeviceId(Buffer.alloc(32, 255))),
    ];
    const excess = async (given: string, device: string, isProgram: boolean) =>
      idsOf(await run(END_EXCESS, [userId, given, device, 1, 'cause', isProgram]));
    expect(await excess(phone, PHONE, false)).toEqual(new Set());
    expect(await excess(own, program, true)).toEqual(new Set([other]));
  });

  it('3. `END_SESSIONS_AT_PROVIDER` ends those with the names, up to a begin', async () => {
    const [sid, subject, other] = [1, 2, 3].map((n) => Buffer.alloc(32, n)) as [Buffer, Buffer, Buffer];
    const named = { provider_session: sid, provider_subject: subject };
    const withoutSid = { provider_subject: subject };
    const meant = async (session: Buffer | null, subjects: Buffer[] | null, until: Date | null = null) =>
      idsOf(await run(statements.END_SESSIONS_AT_PROVIDER, [userId, session, subjects, 'cause', until]));
    const all = [
      await begin(null, named),
      await begin(null, withoutSid),
      await begin(null, { provider_subject: other }),
    ];
    expect(await meant(other, [Buffer.alloc(32)])).toEqual(new Set());
    await begin(null, { provider_session: other, provider_subject: subject }); // another session of the subject
    expect(await meant(null, null, past)).toEqual(new Set()); // begun later
    expect(await meant(sid, [subject])).toEqual(new Set([all[0], all[1]]));
    expect(await meant(null, [other])).toEqual(new Set([all[2]]));
    expect((await meant(null, [subject])).size).toBe(1);
    const early = await begin(null, { begun_at: past });
    expect(await meant(null, null, past)).toEqual(new Set([early]));
  });

  it('4. `FIND_SIGNED_OUT_DEVICES` sees what its transaction has ended', async () => {
    for (const device_id of [PHONE, LAPTOP]) await insert('devices', { user_id: userId, device_id });
    const session = await begin(PHONE);
    await begin(LAPTOP);
    await begin(PHONE, { idle_ends_at: past });
    await begin(PHONE, { expires_at: past });
    const devices = async () =>
      (await run(statements.FIND_SIGNED_OUT_DEVICES, [userId, [PHONE, LAPTOP]])).map(
        ({ device_id }) => device_id,
      );
    expect(await devices()).toEqual([]);
    // As a transaction that began before another one that ended the session: expiry after its own now().
    await run(
      "UPDATE refresh_tokens SET signed_out_at = now(), expires_at = now() + interval '1 hour' WHERE session_id = $1",
      [session],
    );
    expect(await devices()).toEqual([PHONE]);
  });

  describe('for several users', () => {
    const { LOCK_USERS, END_EACH_SESSION, FIND_EACH_SIGNED_OUT_DEVICE } = statements;
    let users: string[];
    beforeEach(async () => {
      users = sortedIds(3);
      for (const id of users.toReversed()) await insert('users', userOf(id));
    });
    const beginEach = () => Promise.all(users.map((id) => insert('refresh_tokens', sessionOf(id, PERSONAL))));

    it('2. `LOCK_USERS` locks in the order of the keys, and leaves removed users out', async () => {
      const removal = 'UPDATE users SET removed_at = now() WHERE user_id = $1';
      const locked = await whileHeld(
        ['SELECT FROM users WHERE user_id = $1 FOR UPDATE', [users[1]]],
        () => runUnsorted(LOCK_USERS, [users.toReversed()]),
        async (holder) => {
          expect([await isBlocked(LOCK, [users[0]]), await isBlocked(LOCK, [users[2]])]).toEqual([
            true,
            false,
          ]);
          await holder.query(removal, [users[1]]);
        },
      );
      expect(locked).toEqual([
        { userId: users[0], provider: 'corp' },
        { userId: users[2], provider: 'corp' },
      ]);
    });

    it('3. `END_EACH_SESSION` ends those of their users, once, and removes their personal data', async () => {
      const [first, second, third] = await beginEach();
      const all = [first!, second!, { ...third!, user_id: users[0]! }];
      const values = [all.map(({ user_id: id }) => id), all.map(({ session_id: id }) => id), 'cause'];
      const expected = all
        .slice(0, 2)
        .map(({ user_id, session_id }) => ({ userId: user_id, sessionId: session_id, deviceId: null }));
      expect(new Set(await run(END_EACH_SESSION, values))).toEqual(new Set(expected));
      for (const { session_id: id } of all.slice(0, 2)) expect(await endedRow(id)).toMatchObject(ENDED);
      expect(await endedRow(third!.session_id)).toMatchObject(PERSONAL);
      expect(await run(END_EACH_SESSION, values)).toEqual([]);
    });

    it('3. `END_EACH_SESSION` waits for a locked session, and leaves one that has ended by then', async () => {
      const all = await beginEach();
      const values = [users, all.map(({ session_id: id }) => id), null];
      const held: [string, unknown[]] = [SIGN_OUT, [users[1]]];
      const ended = idsOf(await whileHeld(held, () => run(END_EACH_SESSION, values)));
      expect(ended).toEqual(new Set([all[0]!.session_id, all[2]!.session_id]));
    });

    it('4. `FIND_EACH_SIGNED_OUT_DEVICE` finds devices of their users without a live session', async () => {
      for (const user_id of users) await insert('devices', { user_id, device_id: PHONE });
      await insert('refresh_tokens', sessionOf(users[0]!, { device_id: PHONE }));
      await insert('refresh_tokens', sessionOf(users[1]!, { device_id: PHONE, idle_ends_at: past }));
      await insert('refresh_tokens', sessionOf(users[2]!, { device_id: PHONE, signed_out_at: past }));
      const found = await run(FIND_EACH_SIGNED_OUT_DEVICE, [users, users.map(() => PHONE)]);
      expect(found.map(({ user_id: id, device_id: device }) => [id, device])).toEqual([
        [users[1], PHONE],
        [users[2], PHONE],
      ]);
      expect(await run(FIND_EACH_SIGNED_OUT_DEVICE, [[users[1]], [LAPTOP]])).toEqual([]);
    });
  });
});
