import { randomUUID } from 'node:crypto';
import { FIND_STATE, FIND_STATES } from '../../src/channel/channel-state.sql.js';
import { userOf, useStatements } from '../support/statements.js';

interface Viewpoint {
  readonly userId: string;
  readonly offset?: number;
  /** Seconds since the epoch. */
  readonly issuedAt?: number;
}

/** The members of src/channel/channel-state.sql.ts, with equal names in both statements. */
describe.each(['FIND_STATE', 'FIND_STATES'])('the statement of the state of a channel: %s', (name) => {
  const { run, insert, whileHeld } = useStatements();
  let userId: string;
  beforeEach(async () => {
    userId = (await insert('users', userOf())).user_id;
    await insert('channels', { user_id: userId, last_offset: 5 });
  });

  const find = async ({ userId: user, offset = 0, issuedAt = 0 }: Viewpoint) => {
    const rows =
      name === 'FIND_STATE'
        ? await run(FIND_STATE, [user, offset, issuedAt])
        : await run(FIND_STATES, [
            [randomUUID(), user],
            [9, offset],
            [0, issuedAt],
          ]);
    return rows.at(-1)!;
  };
  const store = async (offset: number, expiresAt = 'infinity') =>
    (
      await insert('channel_events', {
        user_id: userId,
        event_offset: offset,
        id: randomUUID(),
        event: 'n',
        data: '1',
        sent_at: 'now',
        expires_at: expiresAt,
      })
    ).id;

  it('`at` and `last`: a row even without a channel', async () => {
    expect(await find({ userId })).toMatchObject({ at: expect.any(Date), last: 5 });
    expect(await find({ userId: randomUUID() })).toMatchObject({ at: expect.any(Date), last: 0 });
  });

  it('`stored` counts the events after the offset that have not expired', async () => {
    for (const offset of [2, 3, 4]) await store(offset);
    await store(5, '-infinity');
    expect(await find({ userId, offset: 2 })).toMatchObject({ stored: 2 });
  });

  it('`id` and `lastId` are the events at the offset and at the end', async () => {
    const [second, last] = [await store(2), await store(5)];
    expect(await find({ userId, offset: 2 })).toMatchObject({ id: second, lastId: last });
    expect(await find({ userId, offset: 3 })).toMatchObject({ id: null, lastId: last });
  });

  it('`claims` if they have changed since the token was issued, or up to ten seconds before', async () => {
    const at = 1_700_000_000;
    await run(
      'UPDATE users SET claims = $2, claims_version = 7, claims_changed_at = to_timestamp($3) WHERE user_id = $1',
      [userId, { plan: 1 }, at],
    );
    expect(await find({ userId, issuedAt: at + 9 })).toMatchObject({ claims: { plan: 1 } });
    expect(await find({ userId, issuedAt: at + 10 })).toMatchObject({ claims: null });
  });

  it('one snapshot: `last` and `stored` are those from before a push that has not committed', async () => {
    const push = 'UPDATE channels SET last_offset = 6 WHERE user_id = $1';
    const other =
      'UPDATE channels SET last_offset = last_offset + 1 WHERE user_id = $1 RETURNING last_offset';
    const [row] = await whileHeld(
      [push, [userId]],
      () => run(other, [userId]),
      async () => {
        expect(await find({ userId })).toMatchObject({ last: 5 });
      },
    );
    expect(row).toEqual({ last_offset: '7' });
  });
});
