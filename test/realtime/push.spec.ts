import { randomUUID } from 'node:crypto';
import type { Response } from 'supertest';
import { Events } from '../../src/platform/events.js';
import { PushService } from '../../src/realtime/push/push.service.js';
import { Channel } from '../support/channel.js';
import { SERVICE_KEY } from '../support/service.js';
import { isBusy } from '../support/sign-in.js';

const OTHER_SERVICE_KEY = 'another-service-key-of-as-many-characters';

/** POST /push (docs/realtime.md#pushing). */
describe('POST /push', () => {
  const channel = Channel.around({ SERVICE_KEYS: `${SERVICE_KEY},${OTHER_SERVICE_KEY}` });
  const stored = (userId: string): Promise<object[]> =>
    channel.sql('SELECT FROM channel_events WHERE user_id = $1', [userId]);

  it.each<[status: number, body: object]>([
    [400, { user_id: undefined }],
    [400, { user_id: 'ada' }],
    [404, { user_id: randomUUID() }],
    [404, { device_id: randomUUID() }],
    [404, { device_id: randomUUID(), ttl: 0 }],
    [400, { device_id: 'phone' }],
    ...[-1, 1.5, '1'].map((ttl): [number, object] => [400, { ttl }]),
    ...[undefined, '', 'x'.repeat(129), 'a b', 'a\n', ['x']].map((event): [number, object] => [
      400,
      { event },
    ]),
    ...['device.x', 'session.ended', 'token.x', 'ready', 'connect', 'removeListener'].map(
      (event): [number, object] => [400, { event }],
    ),
    ...['agent.allowed', 'agent.x', 'identities.x'].map((event): [number, object] => [400, { event }]),
    [413, { data: 'x'.repeat(65_536) }],
  ])('is answered with %i, and stores nothing: %j', async (status, body) => {
    const { user_id } = await channel.signIn();
    const response = await channel.push({ user_id, event: 'x', ...body });
    const refusal = { error: expect.any(String), error_description: expect.any(String) };
    expect([response.status, response.body]).toEqual([status, refusal]);
    expect(await channel.sql('SELECT FROM channels WHERE user_id = $1', [user_id])).toEqual([]);
  });

  it.each(['readyness', 'devices.x', 'agents.x', 'agent', 'identity.x', 'a.b:c-d_9', 'x'.repeat(128)])(
    'takes the event %s',
    async (event) => {
      const { user_id } = await channel.signIn();
      await channel.push({ user_id, event }).expect(202);
    },
  );

  it('refuses the device of somebody else, and stores nothing for either', async () => {
    const device_id = randomUUID();
    const [ada, bob] = [await channel.signIn(), await channel.signIn(randomUUID(), { device_id })];
    const onDevice = await channel.connect(bob);
    const { body } = await channel.push({ user_id: ada.user_id, event: 'x', device_id }).expect(404);
    expect(body).toMatchObject({ error: 'not_found' });
    await channel.push({ user_id: ada.user_id, event: 'x', device_id, ttl: 0 }).expect(404);
    await channel.push({ user_id: bob.user_id, event: 'own', device_id }).expect(202);
    await onDevice.next('own');
    expect(onDevice.history.map(({ event, meta }) => [event, meta!.offset])).toEqual([['own', 2]]);
    expect(await stored(ada.user_id)).toEqual([]);
  });

  it('with a ttl of 0: those that come together are told apart, and share statements', async () => {
    const devices = [randomUUID(), randomUUID()];
    const users = await Promise.all(
      [0, 1, 2].map((n) => channel.signIn(randomUUID(), { device_id: devices[n % 2] })),
    );
    const sockets = await Promise.all(users.map((user) => channel.connect(user)));
    const shared: number[] = [];
    channel.service.app
      .get(Events)
      .on('statement.batched', ({ name, calls }) => name === 'push-transient' && shared.push(calls));
    const pushes = users.flatMap(({ user_id }, n) => [
      { body: { user_id, data: n }, status: 202 },
      { body: { user_id, data: n, device_id: devices[n % 2] }, status: 202 },
      { body: { user_id, data: n, device_id: devices[(n + 1) % 2] }, status: 404 },
      { body: { user_id: randomUUID(), data: n }, status: 404 },
    ]);
    const all = Array.from({ length: 5 }, () => pushes).flat();
    const answers = await Promise.all(all.map(({ body }) => channel.push({ ...body, event: 'n', ttl: 0 })));
    expect(answers.map(({ status }) => status)).toEqual(all.map(({ status }) => status));
    for (const [n, socket] of sockets.entries()) {
      await socket.until(() => socket.of('n').length >= 10);
      expect(socket.of('n').map(({ data }) => data)).toEqual(Array(10).fill(n));
    }
    expect(shared.reduce((sum, calls) => sum + calls, 0)).toBe(all.length);
    shared.splice(0);
    const pushService = channel.service.app.get(PushService); // requests may arrive one after the other
    await Promise.all(users.map(({ user_id }) => pushService.push(user_id, 'n', null, { ttl: 0 })));
    expect(shared).toEqual([users.length]);
  });

  describe('with an Idempotency-Key', () => {
    let key: string;
    let body: { user_id: string; event: string; data: unknown };
    beforeEach(async () => {
      key = randomUUID();
      body = { user_id: (await channel.signIn()).user_id, event: 'x', data: { a: 1 } };
    });
    const push = (more: object = {}, serviceKey?: string, idempotencyKey = key) =>
      channel.push({ ...body, ...more }, { 'Idempotency-Key': idempotencyKey }, serviceKey);

    /** Asks again if the database of a busy machine is too slow, as a client would: the key is for that. */
    const pushUntilDone = async (): Promise<Response> => {
      for (let left = 5; ; left--) {
        const answer = await push();
        if (!isBusy(answer) || left === 1) return answer;
      }
    };

    it('is done once: the same body gets the first answer again, another one is refused', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => pushUntilDone()));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
      for (const { body: answer } of answers) expect(answer).toEqual(answers[0]!.body);
      expect(answers[0]!.body).toMatchObject({ offset: 1 });
      expect((await push({ data: 2 }).expect(400)).body).toMatchObject({ error: 'invalid_request' });
      expect(await stored(body.user_id)).toHaveLength(1);
    });

    it('belongs to its service key: the same key under another one is a different key', async () => {
      const first = await push().expect(202);
      const second = await push({}, OTHER_SERVICE_KEY).expect(202);
      expect([first.body, second.body]).toMatchObject([{ offset: 1 }, { offset: 2 }]);
      await push({ data: 2 }).expect(400);
      await push({ data: 2 }, OTHER_SERVICE_KEY).expect(400);
      expect((await push({}, OTHER_SERVICE_KEY).expect(202)).body).toEqual(second.body);
      expect((await push().expect(202)).body).toEqual(first.body);
    });

    it('forgets the key after 24 hours, and does not remember what failed', async () => {
      await push({ user_id: randomUUID() }).expect(404);
      await push().expect(202);
      // The service compares with its own measure of the database's clock, which may be some milliseconds behind.
      await channel.sql(`UPDATE idempotency_keys SET expires_at = now() - interval '1 second'`);
      expect((await push({ event: 'y' }).expect(202)).body).toMatchObject({ offset: 2 });
    });

    it.each(['', 'k'.repeat(256)])('refuses the key %j', (refused) =>
      push({}, SERVICE_KEY, refused).expect(400),
    );
  });
});
