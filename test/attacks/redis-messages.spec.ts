import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { Cluster } from '../support/cluster.js';
import { needs } from '../support/installed.js';
import { query } from '../support/database.js';
import { RedisServer, hasRedis } from '../support/redis-server.js';
import type { ServiceProcess } from '../support/service-process.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { Witness, report } from './attack.js';
import { use } from '../support/use.js';

/** Messages of another writer to Redis: one message that was not JSON ended every instance. */
needs({ 'redis-server': hasRedis }).describe('a neighbour on Redis', () => {
  let [a, b] = [] as unknown as [ServiceProcess, ServiceProcess];
  let ada: Tokens;
  let bob: Tokens;
  const clients: SocketClient[] = [];

  const redis = use(
    () => RedisServer.start(),
    (one) => one.kill(),
  );
  const neighbour = use(
    () => new Redis(redis.url),
    (one) => one.disconnect(),
  );
  const cluster = use(() => Cluster.create());
  beforeAll(async () => {
    [a, b] = (await Promise.all([0, 1].map(() => cluster.start({ REDIS_URL: redis.url })))) as [
      ServiceProcess,
      ServiceProcess,
    ];
  });
  beforeEach(async () => {
    [ada, bob] = [await signIn(a.url), await signIn(a.url)];
  });
  afterEach(() => {
    clients.splice(0).forEach((client) => client.close());
    for (const { child } of [a, b]) expect(child.exitCode).toBeNull();
  });

  async function connect({ url }: ServiceProcess, { access_token }: Tokens): Promise<SocketClient> {
    const client = await SocketClient.connect(url, access_token);
    clients.push(client);
    return client;
  }
  const push = async ({ user_id }: Tokens, event: string): Promise<void> =>
    expect((await cluster.push(a, { user_id, event })).status).toBe(202);
  const channel = ({ user_id }: Tokens) => `latchkey:user:${user_id}`;
  const history = (client: SocketClient) => client.history.map(({ event, meta }) => [event, meta!.offset]);

  /** As an instance would say it, without what only instances can know. */
  const forged = ({ user_id }: Tokens, more: object): string =>
    JSON.stringify({
      seal: 'A'.repeat(43),
      id: randomUUID(),
      userId: user_id,
      deviceId: null,
      offset: 1,
      event: 'forged',
      data: null,
      sentAt: new Date().toISOString(),
      from: randomUUID(),
      ...more,
    });
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

  it.each<[string, (user: Tokens) => (string | Buffer)[]]>([
    [
      'no JSON',
      () => ['', 'nonsense', '{', '\0', Buffer.from([0xff, 0xfe]), '{"seal":"', 'x'.repeat(5_000_000)],
    ],
    ['JSON of another shape', () => ['null', '1', '"x"', '[]', '{}', '[null]', '{"id":1}', '{"offset":{}}']],
    ['depth', (user) => [deep, forged(user, {}).replace('"data":null', `"data":${deep}`)]],
    ['the next event', (user) => [forged(user, {})]],
    ['events without a place', (user) => [forged(user, { offset: null })]],
    [
      'the end of the session',
      (user) => [forged(user, { event: 'session.ended', data: { reason: 'signed_out' } })],
    ],
    [
      'names that Socket.IO keeps for itself',
      (user) => ['connect', 'newListener'].map((event) => forged(user, { event })),
    ],
    [
      'a history that reaches far',
      (user) => [forged(user, { id: undefined, offset: Number.MAX_SAFE_INTEGER })],
    ],
    [
      'places of every kind',
      (user) => [0, -1, 1.5, '1', [], 2 ** 60].map((offset) => forged(user, { offset })),
    ],
    ['another user', () => [forged(bob, { offset: null })]],
  ])('who says %s is not believed, and nothing is missed', async (_name, make) => {
    const [here, there, other] = [await connect(a, ada), await connect(b, ada), await connect(b, bob)];
    for (const message of make(ada)) await neighbour.publish(channel(ada), message);
    for (const event of ['one', 'two']) await push(ada, event);
    await push(bob, 'other');
    await Promise.all([here.next('two'), there.next('two'), other.next('other')]);
    for (const client of [here, there]) {
      expect(history(client)).toEqual([
        ['one', 1],
        ['two', 2],
      ]);
      expect(client.received.map(({ event }) => event)).toEqual(['ready', 'one', 'two']);
      expect(client.disconnects).toEqual([]);
    }
    expect(history(other)).toEqual([['other', 1]]);
  });

  it('a repeated message changes nothing, neither in its own channel nor in that of another user', async () => {
    const [there, other] = [await connect(b, ada), await connect(b, bob)];
    const listener = neighbour.duplicate();
    await listener.subscribe(channel(ada));
    const said = new Promise<string>((resolve) =>
      listener.on('message', (_channel, message) => resolve(message)),
    );
    await push(ada, 'one');
    const message = await said;
    listener.disconnect();
    for (const user of [ada, bob])
      for (let i = 0; i < 3; i++) await neighbour.publish(channel(user), message);
    await neighbour.publish(channel(ada), message.replace('"one"', '"two"'));
    await Promise.all([push(ada, 'end'), push(bob, 'end')]);
    await Promise.all([there.next('end'), other.next('end')]);
    expect(history(there)).toEqual([
      ['one', 1],
      ['end', 2],
    ]);
    expect(history(other)).toEqual([['end', 1]]);
  });

  it('a message that is not understood makes an instance read the history, so that no event is missed', async () => {
    const there = await connect(b, ada);
    await query(cluster.database.url, 'INSERT INTO channels VALUES ($1, 1)', [ada.user_id]);
    await query(
      cluster.database.url,
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       VALUES ($1, 1, gen_random_uuid(), 'unsaid', '1', now(), now() + interval '1 hour')`,
      [ada.user_id],
    );
    await neighbour.publish(channel(ada), 'an instance of another version');
    await there.next('unsaid');
    expect(history(there)).toEqual([['unsaid', 1]]);
  });

  it('a flood of false messages costs one read of a history per second', async () => {
    const there = await connect(b, ada);
    const reads = async (): Promise<number> => {
      const [row] = await query<{ n: number }>(
        cluster.database.url,
        `SELECT sum(xact_commit + xact_rollback)::int AS n FROM pg_stat_database WHERE datname = current_database()`,
      );
      return row!.n;
    };
    const before = await reads();
    const witness = new Witness(b);
    const lie = forged(ada, { offset: 1000, data: 'x'.repeat(1000) });
    const LIES = 4000;
    for (let sent = 0; sent < LIES; sent += 1000) {
      await Promise.all(Array.from({ length: 1000 }, () => neighbour.publish(channel(ada), lie)));
    }
    await push(ada, 'after');
    await there.next('after');
    const cost = await witness.stop();
    report(`${LIES} lies on Redis`, LIES * lie.length, cost);
    expect((await reads()) - before).toBeLessThan(LIES / 10);
    expect(history(there)).toEqual([['after', 1]]);
    expect(b.output().match(/not signed with our SECRET_KEY/g)).toHaveLength(1);
  });
});
