import { randomUUID } from 'node:crypto';
import { PushService } from '../../src/realtime/push/push.service.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { Channel } from '../support/channel.js';
import type { SocketClient } from '../support/socket-client.js';

const offsetsOf = ({ history }: SocketClient): unknown[] =>
  history.map(({ event, meta }) => [event, meta!.offset]);

/** What a user's sockets on one instance are given. */
describe('the user’s own channel', () => {
  const channel = Channel.around();
  const push = (body: object) => channel.push(body).expect(202);

  it('brings what was pushed, to the user’s sockets and to nobody else', async () => {
    const [ada, bob] = [await channel.signIn(), await channel.signIn()];
    const sockets = [await channel.connect(ada), await channel.connect(ada)];
    const other = await channel.connect(bob);
    const data = { total: 7, text: 'ü\u0000✨' };
    const { body } = await push({ user_id: ada.user_id, event: 'order.paid', data });
    expect(body).toEqual({ id: expect.any(String), offset: 1, online: true });
    const { id } = body as { id: string };
    for (const socket of sockets) {
      const meta = { id, offset: 1, sent_at: expect.stringMatching(/^\d{4}-.*Z$/) };
      expect(await socket.next('order.paid')).toEqual({ event: 'order.paid', data, meta });
    }
    await push({ user_id: bob.user_id, event: 'done' });
    await other.next('done');
    expect(other.history).toHaveLength(1);
  });

  it('cannot be left for another one, whatever a client sends', async () => {
    const [ada, eve] = [await channel.signIn(), await channel.signIn()];
    const client = await channel.connect(eve);
    const { user_id } = ada;
    client.socket.emit('join', user_id).emit('subscribe', `user:${user_id}`).emit('ready', { user_id });
    client.socket.emit('push', { user_id, event: 'x' }).emit('__proto__', {});
    await push({ user_id, event: 'secret' });
    await push({ user_id: eve.user_id, event: 'own' });
    await client.next('own');
    expect(offsetsOf(client)).toEqual([['own', 1]]);
  });

  it('delivers an event for one device to that device only: others see a gap in the offsets', async () => {
    const [user, one, two] = [randomUUID(), randomUUID(), randomUUID()];
    const [first, second] = [
      await channel.signIn(user, { device_id: one }),
      await channel.signIn(user, { device_id: two }),
    ];
    const [onOne, onTwo] = [await channel.connect(first), await channel.connect(second)];
    const { user_id } = first;
    await push({ user_id, event: 'for.one', device_id: one.toUpperCase() });
    await push({ user_id, event: 'for.all' });
    await Promise.all([onOne.next('for.all'), onTwo.next('for.all')]);
    const forOne = ['for.one', 3];
    expect([offsetsOf(onOne), offsetsOf(onTwo)]).toEqual([[forOne, ['for.all', 4]], [['for.all', 4]]]);
  });

  it('announces devices that sign in, are renamed, sign out and are removed, but no session without one', async () => {
    const [user, mine, other, lost] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const tokens = await channel.signIn(user, { device_id: mine });
    const client = await channel.connect(tokens);
    const none = await channel.signIn(user);
    await bearer(channel.url, none.access_token).post('/sign-out').expect(204);
    const names = { device_name: 'New', user_agent: 'UA' };
    const { access_token } = await channel.signIn(user, { device_id: other, ...names });
    const as = bearer(channel.url, access_token);
    await as.patch(`/devices/${other}`, { device_name: 'Newer' }).expect(200);
    const me = bearer(channel.url, tokens.access_token);
    const { body } = await me.get('/devices').expect(200);
    await as.post('/sign-out').expect(204);
    await channel.signIn(user, { device_id: lost });
    await me.delete(`/devices/${lost}`).expect(204);
    await client.until(() => client.of('device.signed_out').length === 2);
    const { devices } = body as { devices: { device_id: string; created_at: string }[] };
    const { created_at } = devices.find(({ device_id }) => device_id === other)!;
    const device = { device_id: other, user_agent: 'UA', created_at, last_seen_at: expect.any(String) };
    expect(client.history.map(({ event, data, meta }) => [event, meta!.offset, data])).toEqual([
      ['device.signed_in', 2, { ...device, device_name: 'New' }],
      ['device.renamed', 3, { ...device, device_name: 'Newer' }],
      ['device.signed_out', 4, { ...device, device_name: 'Newer' }],
      ['device.signed_in', 5, expect.objectContaining({ device_id: lost })],
      ['device.signed_out', 6, expect.objectContaining({ device_id: lost })],
    ]);
  });

  const OTHER_ID = randomUUID();
  const EXPIRE = 'UPDATE channel_events SET expires_at = now() WHERE user_id = $1 AND event_offset = 2';
  const RESTORE = `UPDATE channel_events SET id = '${OTHER_ID}' WHERE user_id = $1 AND event_offset = 2`;
  const FORGET = 'DELETE FROM channel_events WHERE user_id = $1 AND event_offset = 2';
  type Resumed = { offset: number; recovered: boolean; id?: string | null };

  // Its history has the events 1 to 3, and 4 comes once it is ready.
  it.each<[string, (ids: string[]) => object, Resumed, gets: number[], change?: string]>([
    ['no offset', () => ({}), { offset: 3, recovered: true }, [4]],
    ['an offset', () => ({ offset: 1 }), { offset: 1, recovered: true }, [2, 3, 4]],
    ['an offset from the future', () => ({ offset: 7 }), { offset: 3, recovered: false }, [4]],
    [
      'what came before an expired event',
      () => ({ offset: 1 }),
      { offset: 1, recovered: false },
      [3, 4],
      EXPIRE,
    ],
    ['an expired event', () => ({ offset: 2 }), { offset: 2, recovered: true }, [3, 4], EXPIRE],
    ['offset and id', (ids) => ({ offset: 2, id: ids[1] }), { offset: 2, recovered: true }, [3, 4]],
    ['null as id', () => ({ offset: 2, id: null }), { offset: 2, recovered: true }, [3, 4]],
    ['an id without an offset', () => ({ id: 'nonsense' }), { offset: 3, recovered: true }, [4]],
    [
      'an id of before a backup',
      (ids) => ({ offset: 2, id: ids[1] }),
      { offset: 3, recovered: false },
      [4],
      RESTORE,
    ],
    [
      'an event that is gone',
      (ids) => ({ offset: 2, id: ids[1] }),
      { offset: 2, recovered: true, id: null },
      [3, 4],
      FORGET,
    ],
  ])('a client that comes back with %s', async (_name, auth, expected, ...[gets, change]) => {
    const { access_token: token, user_id } = await channel.signIn();
    const ids: string[] = [];
    for (const data of [1, 2, 3])
      ids.push(((await push({ user_id, event: 'n', data })).body as { id: string }).id);
    if (change) await channel.sql(change, [user_id]);
    const client = channel.open({ token, ...auth(ids) });
    expect(await client.ready()).toMatchObject({ id: ids[expected.offset - 1], ...expected });
    await push({ user_id, event: 'n', data: 4 });
    await client.until(() => client.of('n').at(-1)?.data === 4);
    expect(client.of('n').map(({ data, meta }) => [data, meta!.offset])).toEqual(gets.map((n) => [n, n]));
  });

  it('does not keep what was pushed with a ttl of 0: that is only for connected clients', async () => {
    const tokens = await channel.signIn();
    const client = await channel.connect(tokens);
    const { body } = await push({ user_id: tokens.user_id, event: 'now', ttl: 0 });
    expect([(body as { offset: unknown }).offset, (await client.next('now')).meta!.offset]).toEqual([
      null,
      null,
    ]);
    const late = channel.open({ token: tokens.access_token, offset: 0 });
    expect(await late.ready()).toMatchObject({ offset: 0, recovered: true });
  });

  describe('over WebSockets, long polling and the way between them', () => {
    const connectAll = (tokens: Tokens, options: object = {}): Promise<SocketClient[]> =>
      Promise.all(
        [['websocket'], ['polling'], ['polling', 'websocket'], ['websocket']].map((transports) =>
          channel.connect(tokens, { transports, ...options }),
        ),
      );

    it('brings stock clients data of every kind and length, in order', async () => {
      const tokens = await channel.signIn();
      const all = await connectAll(tokens);
      const lengths = Array.from({ length: 200 }, (_, n) => n).concat([65_400, 65_535, 65_600, 200_000]);
      const sent: unknown[] = lengths.flatMap((length) => ['x'.repeat(length), '€'.repeat(length)]);
      sent.push(null, 0, false, [1, [2]], { a: { b: null } }, 'half a character: \ud800', [2.5e300]);
      sent.push(JSON.parse('{"__proto__":1,"toJSON":2,"constructor":3}'), { _placeholder: true, num: 0 });
      const realtime = channel.service.app.get(PushService);
      const isKept = (data: unknown, n: number): boolean => n % 3 > 0 || JSON.stringify(data).length > 1000;
      for (const [n, data] of sent.entries())
        await realtime.push(tokens.user_id, 'n', data, { ttl: isKept(data, n) ? 60 : 0 });
      const expected = sent.map((data, n) => [data, isKept(data, n)]);
      for (const client of all) {
        await client.until(() => client.history.length >= sent.length);
        expect(client.history.map(({ data, meta }) => [data, meta!.offset !== null])).toEqual(expected);
      }
    });

    it('brings live events after those that are read from the history, each once', async () => {
      const tokens = await channel.signIn();
      const realtime = channel.service.app.get(PushService);
      const pushAll = async (from: number, to: number): Promise<void> => {
        for (let n = from; n < to; n++) await realtime.push(tokens.user_id, 'n', n);
      };
      await pushAll(0, 150); // more than a page of the history
      const pushing = pushAll(150, 250);
      const all = await connectAll(tokens, { auth: { token: tokens.access_token, offset: 0 } });
      await pushing;
      const expected = Array.from({ length: 250 }, (_, n) => [n, n + 1]);
      for (const client of all) {
        const events = () => client.of('n').map(({ data, meta }) => [data, meta!.offset]);
        await client.until(() => events().length >= expected.length);
        expect(events()).toEqual(expected);
      }
    });
  });
});
