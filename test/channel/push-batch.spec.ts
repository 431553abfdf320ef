import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Channel } from '../support/channel.js';
import { SERVICE_KEY } from '../support/service.js';
import { needs } from '../support/installed.js';
import { bearer } from '../support/sign-in.js';
import { waiting } from '../support/waiting.js';
import { connect } from '../support/database.js';
import { useEach } from '../support/use.js';

type Result = Partial<Record<'id' | 'error' | 'error_description', string>> & {
  readonly offset?: number | null;
  readonly online?: boolean;
};

/** On Citus a failure is of a shard: test/database/citus.spec.ts. */
const alone = needs({ 'one PostgreSQL': process.env['CITUS_URL'] === undefined }).it;
const MEBIBYTE = 1024 * 1024;
const SENT = { id: expect.any(String), offset: expect.any(Number), online: false };
const refused = (error: string): object => ({ error, error_description: expect.any(String) });

/** POST /push/batch (docs/realtime.md#many-events-at-once). */
describe('POST /push/batch', () => {
  const channel = Channel.around();
  let ada: string;
  let bob: string;
  beforeEach(async () => {
    [ada, bob] = (await Promise.all([channel.signIn(), channel.signIn()])).map(({ user_id }) => user_id) as [
      string,
      string,
    ];
  });
  const send = (events: unknown, headers = {}) =>
    bearer(channel.url, SERVICE_KEY).post('/push/batch', { events }).set(headers);
  const results = async (events: unknown, headers = {}): Promise<Result[]> => {
    const { body } = await send(events, headers).expect(200);
    return (body as { results: Result[] }).results;
  };
  const stored = async (userId: string): Promise<unknown[]> => {
    const rows = await channel.sql<{ n: number; data: string }>(
      'SELECT event_offset::int AS n, data FROM channel_events WHERE user_id = $1 ORDER BY 1',
      [userId],
    );
    return rows.map(({ n, data }) => [n, JSON.parse(data)]);
  };
  const isEmpty = async (): Promise<boolean> => {
    const rows = await channel.sql('SELECT FROM channels WHERE user_id = ANY($1)', [[ada, bob]]);
    return rows.length === 0;
  };

  describe('the results are in the order given', () => {
    it('events of one user, of several, and of many at once', async () => {
      const all = await results([
        { user_id: ada, event: 'n', data: 1 },
        { user_ids: [bob.toUpperCase(), ada, ada], event: 'n', data: 2 },
        { user_id: bob, event: 'n' },
        { user_ids: [], event: 'n' },
        { user_id: ada, event: 'n', data: 3, ttl: 0 },
        { user_id: ada, event: 'n', data: 4, ttl: 60 },
      ]);
      expect(all.map(({ offset }) => offset)).toEqual([1, 1, 2, 3, 2, null, 4]);
      expect(new Set(all.map(({ id }) => id)).size).toBe(7);
      expect(all[0]).toEqual(SENT);
      expect(await stored(ada)).toEqual([
        [1, 1],
        [2, 2],
        [3, 2],
        [4, 4],
      ]);
      expect(await stored(bob)).toEqual([
        [1, 2],
        [2, null],
      ]);
      expect(await results([])).toEqual([]);
    });

    it('a suspended user has a history, an unknown and a removed one, and a foreign device, have none', async () => {
      const device_id = randomUUID();
      const carol = await channel.signIn(randomUUID(), { device_id });
      bob = (await channel.signIn(randomUUID(), { device_id: randomUUID() })).user_id; // with another device
      await bearer(channel.url, SERVICE_KEY).patch(`/users/${bob}`, { suspended: true }).expect(200);
      const gone = (await channel.signIn()).user_id;
      await bearer(channel.url, SERVICE_KEY).patch(`/users/${gone}`, { suspended: true }).expect(200); // is kept
      await bearer(channel.url, SERVICE_KEY).delete(`/users/${gone}`).expect(204);
      const rest = { event: 'n', user_ids: [bob, randomUUID(), gone, carol.user_id] };
      const missing = refused('not_found');
      expect(await results([rest])).toEqual([SENT, missing, missing, SENT]);
      expect(await results([{ ...rest, ttl: 0 }])).toEqual([
        { ...SENT, offset: null },
        missing,
        missing,
        { ...SENT, offset: null },
      ]);
      for (const ttl of [0, 1]) {
        const all = await results([{ ...rest, device_id: device_id.toUpperCase(), ttl }]);
        expect(all.map(({ error }) => error)).toEqual(['not_found', 'not_found', 'not_found', undefined]);
      }
      expect(await channel.sql('SELECT FROM channels WHERE user_id = $1', [gone])).toEqual([]);
    });

    it('what is malformed is an error of its users, and the others are sent', async () => {
      const deep = JSON.parse('['.repeat(99) + ']'.repeat(99)) as unknown;
      const malformed: unknown[] = [
        null,
        1,
        'x',
        [],
        {},
        [{ user_id: ada, event: 'n' }],
        { event: 'n' },
        { event: 'n', user_id: ada, user_ids: 'x' },
        ...['', 'ada', 7, null, [ada]].map((user_id) => ({ event: 'n', user_id })),
        ...[undefined, '', 'x'.repeat(129), 'a b', 'device.x', 'agent.x', ['x']].map((event) => ({
          user_id: ada,
          event,
        })),
        ...[-1, 1.5, '1', 31_536_001].map((ttl) => ({ user_id: ada, event: 'n', ttl })),
        { user_id: ada, event: 'n', device_id: 'phone' },
        { user_id: ada, event: 'n', data: 2 ** 53 },
        { user_id: ada, event: 'n', data: 'x'.repeat(65_535) },
        { user_id: ada, event: 'n', data: 'x'.repeat(4095), ttl: 0 },
      ];
      const good = { user_id: bob, event: 'n', data: { deep, proto: JSON.parse('{"__proto__":1}') } };
      const all = await results([...malformed, good]);
      expect(all).toEqual([...malformed.map(() => refused('invalid_request')), SENT]);
      expect(await channel.sql('SELECT FROM channels WHERE user_id = $1', [ada])).toEqual([]);
      expect(await stored(bob)).toEqual([[1, good.data]]);
      const some = await results([
        { event: 'n', user_ids: [ada, 'x', null, bob] },
        { event: 'a b', user_ids: [ada, bob] },
        { event: 'n', user_id: ada, user_ids: [bob, ada] },
      ]);
      const wrong = refused('invalid_request');
      expect(some).toEqual([SENT, wrong, wrong, SENT, wrong, wrong, wrong, wrong]);
    });
  });

  describe('limits of a call', () => {
    const events = (count: number, more: object = {}): object[] =>
      Array.from({ length: count }, () => ({ user_id: ada, event: 'n', ...more }));
    const users = (count: number): string[] =>
      Array.from({ length: count }, (_, i) => (i % 2 ? ada : randomUUID()));
    /** A body of exactly so many bytes. */
    const sized = (bytes: number): object[] => {
      const list = events(20, { data: 'x'.repeat(52_000) });
      const left = bytes - JSON.stringify({ events: list }).length;
      return [...list.slice(1), { ...list[0], data: 'x'.repeat(52_000 + left) }];
    };

    it.each<[string, () => object[], number]>([
      ['100 events', () => events(100), 100],
      ['1,000 users', () => [{ user_ids: users(999), event: 'n' }, ...events(1)], 500],
      ['1 MiB', () => sized(MEBIBYTE), 20],
      ['64 KiB of data', () => events(1, { data: 'x'.repeat(65_534) }), 1],
    ])('%s are sent', async (_name, list, count) => {
      const all = await results(list());
      const offsets = all.flatMap(({ offset, error }) => (error === 'not_found' ? [] : [offset]));
      expect(offsets).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    });

    it.each<[string, () => unknown, number]>([
      ['101 events', () => events(101), 400],
      ['1,001 users', () => [{ user_ids: users(1000), event: 'n' }, ...events(1)], 400],
      ['1,001 users of one event', () => [{ user_ids: users(1001), event: 'n' }], 400],
      ['a byte more than 1 MiB', () => sized(MEBIBYTE + 1), 413],
      ['no events', () => undefined, 400],
      ['events that are no list', () => ({ 0: events(1)[0] }), 400],
      [
        '101 levels',
        () => events(1, { data: JSON.parse('['.repeat(101) + ']'.repeat(101)) as unknown }),
        400,
      ],
    ])('%s are refused as a whole', async (_name, list, status) => {
      const { body } = await send(list()).expect(status);
      expect(body).toEqual(refused(status === 413 ? 'payload_too_large' : 'invalid_request'));
      expect(await isEmpty()).toBe(true);
    });

    it('100 levels of data, and a compressed body', async () => {
      const data = JSON.parse('['.repeat(100) + ']'.repeat(100)) as unknown;
      expect(await results(events(1, { data }))).toEqual([SENT]);
      const answer = await fetch(`${channel.url}/push/batch`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${SERVICE_KEY}`,
          'Content-Type': 'application/json',
          'Content-Encoding': 'gzip',
        },
        body: gzipSync(JSON.stringify({ events: events(2) })),
      });
      expect(await answer.json()).toMatchObject({ results: [{ offset: 2 }, { offset: 3 }] });
    });
  });

  describe('with an Idempotency-Key', () => {
    const key = (): { 'Idempotency-Key': string } => ({ 'Idempotency-Key': randomUUID() });

    it('is done once: also at the same time; another body is refused', async () => {
      const [headers, events] = [
        key(),
        [
          { user_ids: [ada, bob], event: 'n', data: 1 },
          { user_id: randomUUID(), event: 'n' },
        ],
      ];
      const answers = await Promise.all(Array.from({ length: 5 }, () => results(events, headers)));
      expect(answers[0]).toEqual([SENT, SENT, refused('not_found')]);
      for (const answer of answers) expect(answer).toEqual(answers[0]);
      await send([...events, { user_id: ada, event: 'n' }], headers).expect(400);
      expect([await stored(ada), await stored(bob)]).toEqual([[[1, 1]], [[1, 1]]]);
      for (const wrong of ['', 'k'.repeat(256)]) await send(events, { 'Idempotency-Key': wrong }).expect(400);
    });

    alone('a call that failed as a whole has stored nothing, and its key is free', async () => {
      const headers = key();
      await channel.sql(`
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'away'; END $$`);
      await channel.sql(`
        CREATE TRIGGER fail BEFORE INSERT ON channel_events FOR EACH ROW
        WHEN (NEW.user_id = '${bob}') EXECUTE FUNCTION fail()`);
      try {
        const events = [{ user_ids: [ada, bob], event: 'n', data: 1 }];
        for (const more of [headers, {}]) {
          const { body } = await send(events, more).expect(500);
          expect(body).toEqual(refused('server_error'));
        }
        expect(await isEmpty()).toBe(true);
      } finally {
        await channel.sql('DROP FUNCTION fail() CASCADE');
      }
      expect(await results([{ user_id: ada, event: 'n' }], headers)).toMatchObject([{ offset: 1 }]);
    });
  });

  describe('while another transaction holds a lock', () => {
    const hold = (userId: string) =>
      holder.query('INSERT INTO channels (user_id, last_offset) VALUES ($1, 0)', [userId]);
    const answer = async (call: ReturnType<typeof send>): Promise<unknown[]> => {
      const { status, body } = await call;
      return [status, body];
    };
    const locksWaitedFor = async (): Promise<number> => {
      const rows = await channel.sql(`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return rows.length;
    };
    beforeEach(() => {
      [ada, bob] = [ada, bob].toSorted() as [string, string];
    });
    const holder = useEach(
      () => connect(channel.service.databaseUrl),
      (one) => one.end(),
    );
    beforeEach(() => holder.query('BEGIN'));

    alone('a connection that is killed: nothing is half written, and the key is free', async () => {
      const events = [{ user_ids: [ada, bob], event: 'n' }];
      const headers = { 'Idempotency-Key': randomUUID() };
      await hold(bob);
      const calls = [answer(send(events, headers)), answer(send(events))];
      await waiting(channel.service.databaseUrl, 2);
      await channel.sql(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      const failed = [500, refused('server_error')];
      expect(await Promise.all(calls)).toEqual([failed, failed]);
      await holder.query('ROLLBACK');
      expect(await isEmpty()).toBe(true);
      expect(await results(events, headers)).toMatchObject([{ offset: 1 }, { offset: 1 }]);
    });

    alone('a transaction that takes the locks in another order does not make it fail', async () => {
      await hold(bob);
      const batch = results([{ user_ids: [bob, ada], event: 'n' }]);
      await waiting(channel.service.databaseUrl, 1);
      // A deadlock: PostgreSQL ends the statement of the batch, which waited first, unless the machine is busy.
      await hold(ada).catch(() => undefined);
      await holder.query('COMMIT');
      expect(await batch).toMatchObject([{ offset: 1 }, { offset: 1 }]);
    });

    alone('batches hold half of the pool’s connections at most', async () => {
      await hold(ada);
      const batches = Array.from({ length: 12 }, () => answer(send([{ user_id: ada, event: 'n' }])));
      await waiting(channel.service.databaseUrl, 5);
      await channel.push({ user_id: bob, event: 'n' }).expect(202); // not behind them
      expect(await locksWaitedFor()).toBe(5);
      await holder.query('ROLLBACK');
      const sent = (await Promise.all(batches)).filter(([status]) => status === 200); // others have waited a second
      expect((await stored(ada)).length).toBe(sent.length);
    });
  });
});
