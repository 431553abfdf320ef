import { randomUUID } from 'node:crypto';
import { FIND_TARGETS, PUSH } from '../../src/realtime/push/push.sql.js';
import { byPlace, sortedIds, userOf, useStatements } from '../support/statements.js';

interface Target {
  readonly userId: string;
  readonly event?: number;
  readonly online?: boolean;
}

/** The steps of src/realtime/push/push.sql.ts. */
describe('the statement of a batch of pushes', () => {
  const { run, runUnsorted, insert, whileHeld, isBlocked } = useStatements();
  let users: string[];
  beforeEach(async () => {
    users = sortedIds(4);
    for (const userId of users.toReversed()) await insert('users', userOf(userId));
  });

  /** Events 1 to 3: to all devices; to a device; with a ttl of 0. */
  const pushAll = (targets: readonly Target[], { deviceId = randomUUID(), history = 1000 } = {}) =>
    runUnsorted(PUSH, [
      targets.map(({ userId }) => userId),
      targets.map(() => randomUUID()),
      targets.map(({ event = 1 }) => event),
      targets.map(({ online = true }) => online),
      ['to all', 'to one', 'unstored'],
      ['1', '2', '3'],
      [null, deviceId, null],
      [60, 60, 0],
      history,
    ]);
  const reversed = (): Target[] => users.toReversed().map((userId) => ({ userId }));
  const HOLD_CHANNEL = 'INSERT INTO channels (user_id, last_offset) VALUES ($1, 1)';
  const LOCK_USER = 'SELECT FROM users WHERE user_id = $1 FOR UPDATE';
  const areBlocked = (text: string) => Promise.all(users.map((userId) => isBlocked(text, [userId])));

  it('`target` locks the users in the order of the keys, before any channel', async () => {
    await whileHeld(
      [LOCK_USER, [users[1]]],
      () => pushAll(reversed()),
      async () => {
        expect(await areBlocked(LOCK_USER)).toEqual([true, true, false, false]);
        expect(await areBlocked(HOLD_CHANNEL)).toEqual([false, false, false, false]);
      },
    );
  });

  it('`target` waits for a removal, and then checks the user again', async () => {
    const removal = 'UPDATE users SET removed_at = now() WHERE user_id = $1';
    const lock = 'SELECT FROM users WHERE user_id = $1 FOR UPDATE';
    const rows = await whileHeld(
      [lock, [users[1]]],
      () => pushAll(reversed()),
      (holder) => holder.query(removal, [users[1]]),
    );
    expect(byPlace(rows).map(({ place }) => place)).toEqual([1, 2, 4]);
  });

  it('`found` has the targets that exist, with a device that is theirs', async () => {
    const [userId] = users as [string];
    const deviceId = randomUUID();
    await insert('devices', { user_id: userId, device_id: deviceId });
    const all = [{ userId, event: 2 }, { userId: users[1]!, event: 2 }, { userId: randomUUID() }];
    expect(await pushAll(all, { deviceId })).toMatchObject([{ place: 1, event_offset: '1' }]);
  });

  it('`counter` locks the channels in the order of the keys', async () => {
    await whileHeld(
      [HOLD_CHANNEL, [users[1]]],
      () => pushAll(reversed()),
      async () => {
        expect(await areBlocked(HOLD_CHANNEL)).toEqual([true, true, false, false]);
      },
    );
  });

  it('`new` and `numbered` give the events of a user offsets in the order of the batch', async () => {
    const [ada, bo] = users as [string, string];
    const order = [ada, bo, ada, ada, bo];
    const rows = await pushAll(order.map((userId) => ({ userId })));
    expect(byPlace(rows).map((row) => row['event_offset'])).toEqual(['1', '1', '2', '3', '2']);
    expect(await pushAll([{ userId: ada }])).toMatchObject([{ event_offset: '4' }]);
  });

  it('`stored` are those with a ttl', async () => {
    const [userId] = users as [string];
    expect(byPlace(await pushAll([{ userId, event: 3 }, { userId }]))).toMatchObject([
      { event_offset: null },
      { event_offset: '1' },
    ]);
    const stored = 'SELECT event, data, event_offset FROM channel_events WHERE user_id = $1';
    expect(await run(stored, [userId])).toEqual([{ event: 'to all', data: '1', event_offset: '1' }]);
  });

  it('`trimmed` are events beyond the history, if the offsets pass a hundred', async () => {
    const [userId] = users as [string];
    await run('INSERT INTO channels (user_id, last_offset) VALUES ($1, 97)', [userId]);
    await run(
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, n, gen_random_uuid(), 'n', '1', now(), now() FROM generate_series(1, 97) n`,
      [userId],
    );
    const offsets = async () => {
      const text = 'SELECT event_offset::int AS n FROM channel_events WHERE user_id = $1 ORDER BY 1';
      return (await run(text, [userId])).map(({ n }) => n);
    };
    await pushAll([{ userId }], { history: 3 });
    expect((await offsets()).length).toBe(98);
    await pushAll([{ userId }, { userId }, { userId }], { history: 3 });
    expect(await offsets()).toEqual([97, 98, 99, 100, 101]);
  });

  it('`FIND_TARGETS` finds the targets of events that are not stored, without a lock', async () => {
    const [ada, bo, cleo] = users as [string, string, string];
    await run('UPDATE users SET removed_at = now() WHERE user_id = $1', [bo]);
    const deviceId = randomUUID();
    await insert('devices', { user_id: cleo, device_id: deviceId });
    const targets = [ada, bo, randomUUID(), cleo, ada];
    const devices = [null, null, null, deviceId, deviceId];
    const rows = await run(FIND_TARGETS, [targets, devices, targets.map((_, i) => i > 0)]);
    expect(byPlace(rows)).toMatchObject([
      { place: 1, online: false },
      { place: 4, online: true },
    ]);
  });
});
