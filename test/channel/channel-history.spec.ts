import { randomUUID } from 'node:crypto';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { Channel } from '../support/channel.js';
import type { Ready } from '../support/socket-client.js';
import { until } from '../support/waiting.js';

const KEPT = 5;

/**
 * CHANNEL_HISTORY (docs/realtime.md#offsets-nothing-missed-nothing-twice): each append removes what is too
 * old.
 */
describe('the length of a history', () => {
  const channel = Channel.around({ CHANNEL_HISTORY: String(KEPT) });
  let user: string;
  let device: string;
  let tokens: Tokens;

  beforeEach(async () => {
    [user, device] = [randomUUID(), randomUUID()];
    tokens = await channel.signIn(user, { device_id: device });
  });

  /** Makes a history of so many events, without gaps. */
  async function historyOf(last: number): Promise<void> {
    await channel.sql('UPDATE channels SET last_offset = $2 WHERE user_id = $1', [tokens.user_id, last]);
    await channel.sql(
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, n, gen_random_uuid(), 'n', n::text, now(), now() + interval '1 hour' FROM generate_series(2, $2::int) n`,
      [tokens.user_id, last],
    );
  }
  async function offsets(): Promise<number[]> {
    const rows = await channel.sql<{ n: number }>(
      'SELECT event_offset::int AS n FROM channel_events WHERE user_id = $1 ORDER BY 1',
      [tokens.user_id],
    );
    return rows.map(({ n }) => n);
  }
  const push = (headers = {}) => channel.push({ user_id: tokens.user_id, event: 'n' }, headers).expect(202);
  const readyAt = (offset: number): Promise<Ready> =>
    channel.open({ token: tokens.access_token, offset }).ready();

  const APPENDS: [string, () => PromiseLike<unknown>][] = [
    ['a push', () => push()],
    ['a push that is done once', () => push({ 'Idempotency-Key': randomUUID() })],
    ['an event of the service', rename],
    ['a sign-in', () => channel.signIn(user, { device_id: device })],
  ];
  function rename(): PromiseLike<unknown> {
    return bearer(channel.url, tokens.access_token)
      .patch(`/devices/${device}`, { device_name: 'New' })
      .expect(200);
  }

  it.each(APPENDS)('%s whose offset is divisible by 100 removes what is too old', async (_name, append) => {
    await historyOf(99);
    await append();
    expect(await offsets()).toEqual([95, 96, 97, 98, 99, 100]);
    expect(await readyAt(94)).toMatchObject({ offset: 94, recovered: true });
    expect(await readyAt(93)).toMatchObject({ offset: 93, recovered: false });
  });

  it.each(APPENDS)('%s with another offset removes nothing', async (_name, append) => {
    await historyOf(100);
    await append();
    expect(await offsets()).toHaveLength(101);
  });

  it('with large events is read in pages of few bytes, each event once, also if the last ones are missing', async () => {
    const last = 150;
    await historyOf(last);
    await channel.sql(
      `UPDATE channel_events SET data = to_json(repeat('x', 60000))::text WHERE user_id = $1 AND event_offset > 120`,
      [tokens.user_id],
    );
    await channel.sql('UPDATE channels SET last_offset = $2 WHERE user_id = $1', [tokens.user_id, last + 5]);
    const page = await channel.service.app.get(ChannelHistory).read(tokens.user_id, 120);
    expect(page.map(({ offset }) => offset)).toEqual([121, 122, 123, 124, 125]);

    const client = channel.open({ token: tokens.access_token, offset: 1 });
    await push();
    const heard = () => client.received.flatMap(({ event, meta }) => (event === 'n' ? [meta!.offset] : []));
    await until(() => heard().at(-1) === last + 6);
    expect(heard()).toEqual([...Array.from({ length: last - 1 }, (_, i) => i + 2), last + 6]);
  });

  it('of another user stays as it is', async () => {
    await historyOf(99);
    const other = await channel.signIn(randomUUID(), { device_id: device });
    const before = await channel.sql('SELECT FROM channel_events WHERE user_id = $1', [other.user_id]);
    await push();
    const after = await channel.sql('SELECT FROM channel_events WHERE user_id = $1', [other.user_id]);
    expect(after).toHaveLength(before.length);
  });

  it('is shortened step by step when it is far too long, so that no append takes long', async () => {
    await historyOf(24_999);
    await push();
    expect((await offsets()).slice(0, 1)).toEqual([10_001]);
    await channel.sql('UPDATE channels SET last_offset = 29999 WHERE user_id = $1', [tokens.user_id]);
    await push();
    expect((await offsets()).slice(0, 1)).toEqual([20_001]);
  });
});
