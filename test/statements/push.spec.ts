import { randomUUID } from 'node:crypto';
import { PUSH } from '../../src/realtime/push/push.sql.js';
import { userOf, useStatements } from '../support/statements.js';

/** The steps of src/realtime/push/push.sql.ts. */
describe('the statement of a push', () => {
  const { run, insert, whileHeld, isBlocked } = useStatements();
  let userId: string;
  beforeEach(async () => {
    userId = (await insert('users', userOf())).user_id;
  });

  const push = (deviceId: string | null = null, history = 1000) =>
    run(PUSH, [[userId], [randomUUID()], [1], [true], ['news'], ['1'], [deviceId], [60], history]);
  const HOLD_CHANNEL = 'INSERT INTO channels (user_id, last_offset) VALUES ($1, 1)';
  const offsets = async () =>
    (
      await run('SELECT event_offset::int AS n FROM channel_events WHERE user_id = $1 ORDER BY 1', [userId])
    ).map(({ n }) => n);

  it('`target` is a user who is not removed, and a device of theirs', async () => {
    expect(await push(randomUUID())).toEqual([]);
    const { device_id } = await insert('devices', { user_id: userId, device_id: randomUUID() });
    expect(await push(device_id)).toHaveLength(1);
    await run('UPDATE users SET removed_at = now() WHERE user_id = $1', [userId]);
    expect(await push()).toEqual([]);
    expect(await offsets()).toEqual([1]);
  });

  it('`target` waits for a removal, and then checks the user again', async () => {
    const lock = 'SELECT FROM users WHERE user_id = $1 FOR UPDATE';
    const rows = await whileHeld([lock, [userId]], push, (holder) =>
      holder.query('UPDATE users SET removed_at = now() WHERE user_id = $1', [userId]),
    );
    expect(rows).toEqual([]);
    expect(await run('SELECT FROM channels WHERE user_id = $1', [userId])).toEqual([]);
  });

  it('`target` is locked against a removal only, until the commit', async () => {
    await whileHeld([HOLD_CHANNEL, [userId]], push, async () => {
      const lock = 'SELECT FROM users WHERE user_id = $1 FOR';
      expect(await isBlocked(`${lock} UPDATE`, [userId])).toBe(true);
      expect(await isBlocked(`${lock} NO KEY UPDATE`, [userId])).toBe(false); // of a sign-in
    });
  });

  it('`counter` takes the next offset, one push after the other', async () => {
    const rows = await whileHeld([HOLD_CHANNEL, [userId]], push);
    expect(rows).toMatchObject([{ event_offset: '2' }]);
    expect(await push()).toMatchObject([{ event_offset: '3' }]);
  });

  it('`stored` is the event at this offset', async () => {
    const [row] = await push();
    const [stored] = await run('SELECT * FROM channel_events WHERE user_id = $1', [userId]);
    const { event_offset, sent_at } = row!;
    expect(stored).toMatchObject({ event_offset, sent_at, event: 'news', data: '1', device_id: null });
    const seconds = (stored!['expires_at'] as Date).getTime() - (stored!['sent_at'] as Date).getTime();
    expect(seconds).toBe(60_000);
  });

  it('`trimmed` are events beyond the history, at every hundredth offset', async () => {
    await run('INSERT INTO channels (user_id, last_offset) VALUES ($1, 98)', [userId]);
    await run(
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, n, gen_random_uuid(), 'n', '1', now(), now() FROM generate_series(1, 98) n`,
      [userId],
    );
    await push(null, 3);
    expect((await offsets()).length).toBe(99);
    await push(null, 3);
    expect(await offsets()).toEqual([97, 98, 99, 100]);
  });
});
