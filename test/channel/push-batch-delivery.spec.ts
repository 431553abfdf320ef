import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { Sql } from '../../src/platform/database/sql.js';
import { Channel } from '../support/channel.js';
import { SERVICE_KEY } from '../support/service.js';
import { needs } from '../support/installed.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import type { TestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import type { SocketClient } from '../support/socket-client.js';
import { use } from '../support/use.js';
import { until } from '../support/waiting.js';

interface Result {
  readonly id: string;
  readonly offset: number | null;
  readonly online: boolean;
}

const PUBLIC_URL = 'http://latchkey.test'; // equal on both instances, since tokens contain it
const HEARD_MS = 5000;
const isOnCitus = process.env['CITUS_URL'] !== undefined;

/** Batches of events and two instances (docs/realtime.md#many-events-at-once). */
describe.each(['PostgreSQL', 'Redis'])('batches of events; notifications over %s', (transport) => {
  const requirements = transport === 'Redis' ? { 'redis-server': hasRedis } : {};
  needs(requirements).describe('two instances', () => {
    const env: Record<string, string> = { PUBLIC_URL };
    let instances: readonly TestService[];
    if (transport === 'Redis') {
      const redis = use(
        () => RedisServer.start(),
        (one) => one.kill(),
      );
      beforeAll(() => {
        env['REDIS_URL'] = redis.url;
      });
    }
    const channel = Channel.around(env);
    beforeEach(async () => {
      const other = await channel.another({ ...env, DATABASE_URL: channel.service.databaseUrl });
      instances = [channel.service, other];
    });

    async function send({ url }: { url: string }, events: object[]): Promise<Result[]> {
      const { body } = await bearer(url, SERVICE_KEY).post('/push/batch', { events }).expect(200);
      return (body as { results: Result[] }).results;
    }
    const dataOf = (socket: SocketClient, event: string): unknown[] =>
      socket.of(event).map(({ data }) => data);

    it('each event reaches the sockets of its users on both, once and in order, and waits for others', async () => {
      const [ada, bob, carol] = await Promise.all([1, 2, 3].map(() => channel.signIn()));
      const sockets = await Promise.all(
        instances.flatMap((at) => [ada!, bob!].map((user) => channel.connect(user, {}, at))),
      );
      const ids = [ada, bob, carol].map((user) => user!.user_id);
      await until(async () => {
        const [one, two, three] = await send(instances[1]!, [{ user_ids: ids, event: 'probe', ttl: 0 }]);
        return one!.online && two!.online && !three!.online;
      });
      const events = Array.from({ length: 30 }, (_, n) => ({
        user_ids: n % 3 ? [ids[n % 2]!] : ids,
        event: 'n',
        data: n,
      }));
      const results = await send(instances[0]!, events);
      await send(instances[1]!, [{ user_ids: ids, event: 'end' }]);
      await Promise.all(sockets.map((socket) => socket.next('end')));
      const expected = (user: number): number[] =>
        events.flatMap(({ user_ids }, n) => (user_ids.includes(ids[user]!) ? [n] : []));
      for (const [i, socket] of sockets.entries()) expect(dataOf(socket, 'n')).toEqual(expected(i % 2));
      const received = sockets[0]!.of('n').map(({ meta }) => meta!.id);
      expect(results.map(({ id }) => id).filter((id) => received.includes(id))).toEqual(received);

      const late = channel.open({ token: carol!.access_token, offset: 0 }, {}, instances[1]);
      expect(await late.ready()).toMatchObject({ recovered: true });
      await late.next('end');
      expect(dataOf(late, 'n')).toEqual(expected(2));
      expect(late.history.map(({ meta }) => meta!.offset)).toEqual(late.history.map((_, i) => i + 1));
    });

    it('events that are not kept reach sockets on both, each with its own id', async () => {
      const users = await Promise.all(Array.from({ length: 50 }, () => channel.signIn()));
      const few = users.slice(-3);
      const sockets = await Promise.all(
        instances.flatMap((at) => few.map((user) => channel.connect(user, {}, at))),
      );
      const data = { text: 'ü'.repeat(2000) };
      const user_ids = users.map(({ user_id }) => user_id);
      // Under new names until all have it: a machine that is too busy may lose the listening connection.
      const heard = async (): Promise<[string, Result[]]> => {
        for (;;) {
          const event = randomUUID();
          const results = await send(instances[0]!, [{ user_ids, event, data, ttl: 0 }]);
          const all = Promise.all(sockets.map((socket) => socket.next(event)));
          if (await Promise.race([all.then(() => true), delay(HEARD_MS, false)])) return [event, results];
        }
      };
      const [event, results] = await heard();
      for (const [i, socket] of sockets.entries())
        expect(socket.of(event)).toMatchObject([
          { data, meta: { offset: null, id: results[users.length - 3 + (i % 3)]!.id } },
        ]);
    });

    it('batches and single pushes of one user through both at once: one order, in which each batch has its own', async () => {
      const [ada, bob] = await Promise.all([channel.signIn(), channel.signIn()]);
      const sockets = await Promise.all(instances.map((at) => channel.connect(ada, {}, at)));
      const [BATCHES, SIZE] = [12, 10];
      const batches = Array.from({ length: BATCHES }, async (_, batch) => {
        const events = Array.from({ length: SIZE }, (__, n) => ({
          user_ids: batch % 2 ? [bob.user_id, ada.user_id] : [ada.user_id, bob.user_id],
          event: 'n',
          data: [batch, n],
        }));
        await send(instances[batch % 2]!, events);
        await bearer(instances[batch % 2]!.url, SERVICE_KEY)
          .post('/push', { user_id: ada.user_id, event: 'n', data: [-1, batch] })
          .expect(202);
      });
      await Promise.all(batches);
      const total = BATCHES * (SIZE + 1);
      for (const socket of sockets) {
        await socket.until(() => socket.of('n').length >= total);
        expect(socket.history.map(({ meta }) => meta!.offset)).toEqual(
          Array.from({ length: total }, (_, i) => i + 1),
        );
        for (let batch = 0; batch < BATCHES; batch++) {
          const own = socket.of('n').filter(({ data }) => (data as number[])[0] === batch);
          expect(own.map(({ data }) => (data as number[])[1])).toEqual([...Array(SIZE).keys()]);
        }
      }
    });

    it('a batch is one statement, and one notification over PostgreSQL', async () => {
      if (isOnCitus || transport === 'Redis') return; // a transaction for each shard; a channel for each user
      const users = await Promise.all(Array.from({ length: 20 }, () => channel.signIn()));
      const listener = new Client(channel.service.databaseUrl);
      await listener.connect();
      const messages: string[] = [];
      listener.on('notification', ({ payload }) => messages.push(payload!));
      await listener.query('LISTEN latchkey_hints');
      const statements = jest.spyOn(channel.service.app.get(Sql), 'query');
      const names = (): string[] =>
        statements.mock.calls.map(([{ name }]) => name).filter((name) => name.startsWith('push'));
      try {
        const events = (ttl: number): object[] =>
          users.flatMap(({ user_id }) => [1, 2, 3, 4, 5].map((data) => ({ user_id, event: 'n', data, ttl })));
        expect(await send(channel.service, events(60))).toHaveLength(100);
        await until(() => messages.length > 0);
        await channel.push({ user_id: users[0]!.user_id, event: 'end' }).expect(202);
        const isOfPush = (text: string): boolean => text.split('userId').length === 2;
        await until(() => messages.some(isOfPush));
        expect(messages.map(isOfPush)).toEqual([false, true]);
        expect(users.filter(({ user_id }) => !messages[0]!.includes(user_id))).toEqual([]);
        expect(await send(channel.service, events(0))).toHaveLength(100);
        expect(names()).toEqual(['push', 'push', 'push-targets']);
      } finally {
        await listener.end();
      }
    });
  });
});
