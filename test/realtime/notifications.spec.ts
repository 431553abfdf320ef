import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import type { Pushed } from '../support/cluster.js';
import { Crowd } from '../support/crowd.js';
import { createDatabase, unhurried, query } from '../support/database.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const HEARD_MS = 5000;

/**
 * Several instances and nothing but the database (docs/scaling-out.md#do-you-need-redis); in full size in
 * infra/notifications.spec.ts.
 */
describe('hints over PostgreSQL', () => {
  const clients: SocketClient[] = [];

  const provider = use(() => StubProvider.start());
  const database = use(() => createDatabase());
  const proxy = use(
    () => TcpProxy.before(database.url),
    (one) => one.refuse(),
  );
  /** The first one listens through the proxy. */
  const instances = [true, false, false].map((isAside) =>
    use(() =>
      startTestService({
        ...provider.env(),
        DATABASE_URL: unhurried(database.url),
        DATABASE_DIRECT_URL: isAside ? proxy.through(database.url) : database.url,
        PUBLIC_URL: 'http://latchkey.test',
        SERVICE_KEYS: SERVICE_KEY,
      }),
    ),
  );
  afterEach(() => clients.splice(0).forEach((client) => client.close()));

  async function connect({ url }: { url: string }, { access_token }: Tokens): Promise<SocketClient> {
    const client = await SocketClient.connect(url, access_token);
    clients.push(client);
    return client;
  }
  async function push({ url }: { url: string }, body: object): Promise<Pushed> {
    const { status, body: answer } = await bearer(url, SERVICE_KEY).post('/push', body);
    return { status, body: answer as Pushed['body'] };
  }
  /**
   * Pushes an event that is not kept, under new names until every socket has it: a machine that is too busy may lose the
   * listening connection of an instance, and the event with it. @returns its name
   */
  async function pushUntilHeard(at: TestService, body: object, sockets: SocketClient[]): Promise<string> {
    for (;;) {
      const event = randomUUID();
      expect((await push(at, { ...body, event, ttl: 0 })).status).toBe(202);
      const all = Promise.all(sockets.map((socket) => socket.next(event)));
      if (await Promise.race([all.then(() => true), delay(HEARD_MS, false)])) return event;
    }
  }
  /** Ends the listening connections, of all instances or of some. */
  async function cut(most = 100): Promise<void> {
    await query(
      database.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'latchkey-hints' LIMIT $1`,
      [most],
    );
  }
  /** Of all instances that run in this process. */
  const logged = (words: string): number =>
    instances.flatMap(({ log }) => log).filter((line) => line.includes(words)).length;

  it('an event that is not kept comes once to every socket, on any instance; over 4 KiB it is refused', async () => {
    const tokens = await signIn(instances[0]!.url);
    const sockets = await Promise.all(instances.map((instance) => connect(instance, tokens)));
    const { user_id } = tokens;
    const data = 'ü'.repeat(2047);
    const heard: string[] = [];
    for (const instance of instances) {
      const refused = await push(instance, { user_id, event: 'now', ttl: 0, data: `${data}x` });
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      heard.push(await pushUntilHeard(instance, { user_id, data }, sockets));
    }
    for (const instance of instances)
      await push(instance, { user_id, event: 'end', data: 'x'.repeat(20_000) });
    await Promise.all(sockets.map((socket) => socket.until(() => socket.of('end').length === 3)));
    for (const socket of sockets)
      for (const event of heard) expect(socket.of(event)).toMatchObject([{ data }]);
  });

  it('pushes through three instances while listening connections are cut: none lost, doubled or out of order', async () => {
    const crowd = await Crowd.gather({ instances, push, databaseUrl: database.url, users: 4 });
    const end = new AbortController();
    const cutting = (async () => {
      for (let i = 0; !end.signal.aborted; i++) {
        await cut(1 + (i % 3));
        await delay(100);
      }
    })();
    await crowd.push(20, { pushers: 6 });
    end.abort();
    await cutting;
    await crowd.settle();
    expect(crowd.failed).toBe(0);
  });

  it('while an instance is cut off pushes go on; what happened meanwhile is heard once it is back, in both directions', async () => {
    const [near, far] = [instances[1]!, instances[0]!];
    const tokens = await signIn(near.url);
    const { user_id } = tokens;
    const [here, there] = [await connect(near, tokens), await connect(far, tokens)];
    await proxy.refuse();
    await until(() => logged('no messages from other instances') > 0);

    for (const instance of [near, near, far, far]) {
      expect((await push(instance, { user_id, event: 'n' })).status).toBe(202);
    }
    expect((await push(far, { user_id, event: 'unheard', ttl: 0 })).status).toBe(202);
    await there.next('unheard');
    await proxy.restore();
    await Promise.all([here, there].map((client) => client.until(() => client.of('n').length === 4)));
    await push(far, { user_id, event: 'end' });
    await Promise.all([here, there].map((client) => client.next('end')));
    expect(here.history.map(({ meta }) => meta!.offset)).toEqual([1, 2, 3, 4, 5]);
    const kept = there.history.filter(({ meta }) => meta!.offset !== null); // events with `ttl` 0 do not wait for others
    expect(kept.map(({ meta }) => meta!.offset)).toEqual([1, 2, 3, 4, 5]);
    expect(logged('arrive again')).toBeGreaterThan(0);
  });

  it('who can notify, and is none of us, makes instances look into the histories, and does no harm', async () => {
    const { user_id, ...tokens } = await signIn(instances[0]!.url);
    const there = await connect(instances[1]!, { user_id, ...tokens });
    await query(database.url, 'INSERT INTO channels VALUES ($1, 1)', [user_id]);
    await query(
      database.url,
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       VALUES ($1, 1, gen_random_uuid(), 'unsaid', '1', now(), now() + interval '1 hour')`,
      [user_id],
    );
    const warnings = () => logged('not signed with our SECRET_KEY');
    const lies = ['', 'nonsense', '{"seal":"', '['.repeat(7900), `{"seal":"${'A'.repeat(43)}",}`];
    const tell = `SELECT pg_notify('latchkey_hints', lie) FROM unnest($1::text[]) lie`;
    await until(async () => (await query(database.url, tell, [lies]), warnings() >= instances.length));
    await there.next('unsaid');
    await until(async () => (await push(instances[0]!, { user_id, event: 'after' })).status === 202);
    await there.next('after');
    expect(there.history.map(({ event, meta }) => [event, meta!.offset])).toEqual([
      ['unsaid', 1],
      ['after', 2],
    ]);
    expect(warnings()).toBe(instances.length); // once each
  });

  it('what it pushed last is told before an instance ends', async () => {
    const tokens = await signIn(instances[0]!.url);
    const there = await connect(instances[0]!, tokens);
    const env = { ...provider.env(), DATABASE_URL: unhurried(database.url), SERVICE_KEYS: SERVICE_KEY };
    let heard = false;
    for (let attempt = 0; !heard && attempt < 3; attempt++) {
      const last = await startTestService({ ...env, PUBLIC_URL: 'http://latchkey.test' });
      const event = randomUUID();
      await Promise.all([1, 2, 3].map(() => push(last, { user_id: tokens.user_id, event, ttl: 0 })));
      await last.close();
      const all = there.until(() => there.of(event).length === 3);
      heard = await Promise.race([all.then(() => true), delay(HEARD_MS, false)]); // as above
    }
    expect(heard).toBe(true);
    const listening = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'latchkey-hints'`;
    await until(async () => (await query(database.url, listening)).length === 3);
  });
});
