import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { AuditFeed } from '../../src/audit/audit-feed.js';
import { writeEvents } from '../support/audit-events.js';
import { query } from '../support/database.js';
import { EventStreamReader } from '../support/event-stream.js';
import { SERVICE_KEY as KEY, startTestService } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const PUSH_KEY = 'p'.repeat(32);
const path = '/audit/stream';

/** Stream of audit events (docs/audit.md#stream): two instances on one database. */
describe('GET /audit/stream', () => {
  const readers: EventStreamReader[] = [];

  const here = use(() => startTestService({ SERVICE_KEYS: `read:${KEY},push:${PUSH_KEY}` }));
  const proxy = use(
    () => TcpProxy.before(here.databaseUrl),
    (one) => one.refuse(),
  );
  const there = use(() => here.another({ DATABASE_URL: proxy.through(here.databaseUrl) }));
  const instances = [here, there];
  afterEach(() => readers.splice(0).forEach((reader) => reader.close()));

  const databaseUrl = () => instances[0]!.databaseUrl;
  const write = (count = 1, userId?: string) => writeEvents(databaseUrl(), count, 'sign_in', userId);
  async function read(i: number, lastEventId?: string): Promise<EventStreamReader> {
    const reader = await EventStreamReader.open(instances[i]!.url, KEY, lastEventId, { path });
    readers.push(reader);
    await until(() => reader.readings.length > 0);
    return reader;
  }
  const idsOf = (reader: EventStreamReader): string[] => reader.of('message').map(({ id }) => id!);
  const has = (reader: EventStreamReader, ids: string[]): boolean => {
    if (reader.events.length < ids.length) return false;
    const got = new Set(idsOf(reader));
    return ids.every((id) => got.has(id));
  };

  it('sends each event as it is, and begins now', async () => {
    const old = await write();
    await query(databaseUrl(), `UPDATE audit_events SET at = at - interval '1 minute'`);
    const reader = await read(0);
    const [userId, sessionId, deviceId, id, requestId] = Array.from({ length: 5 }, () => randomUUID());
    await query(
      databaseUrl(),
      `INSERT INTO audit_events VALUES ($1, '2500-01-01T00:00:00.123456Z', $4, 'refresh_refused', 'refused', 'invalid_grant', 'why', $2, $3,
         'google', '7', '192.0.2.1', 'curl', 'user', null, $5)`,
      [userId, sessionId, deviceId, id, requestId],
    );
    await query(databaseUrl(), `UPDATE audit_events SET at = clock_timestamp() WHERE id = $1`, [id]);
    await until(() => has(reader, [id!]));
    expect(reader.events.filter(({ event }) => event !== 'message')).toEqual([]);
    expect(reader.of('message').at(-1)).toEqual({
      id,
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      event: 'refresh_refused',
      result: 'refused',
      error: 'invalid_grant',
      reason: 'why',
      user_id: userId,
      session_id: sessionId,
      device_id: deviceId,
      provider: 'google',
      provider_user_id: '7',
      address: '192.0.2.1',
      user_agent: 'curl',
      actor: { type: 'user', name: userId },
      request_id: requestId,
    });
    expect(idsOf(reader)).not.toContain(old[0]);
  });

  it('has the headers of a stream; HEAD has only these', async () => {
    const reader = await read(0);
    const head = await EventStreamReader.ask(instances[0]!.url, KEY, undefined, { method: 'HEAD', path });
    for (const { statusCode, headers } of [reader.response, head]) {
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    }
    expect(await text(head)).toBe('');
  });

  it('sends a comment with the cursor at least every second', async () => {
    const reader = await read(0);
    await until(() => reader.readings.length >= 6);
    const gaps = reader.readings.slice(1).map((at, i) => at - reader.readings[i]!);
    expect(gaps.toSorted((a, b) => a - b)[2]).toBeLessThan(1000); // the median: the machine may be busy
    expect(reader.signsOfLife).toBe(0);
  });

  it('begins now for a cursor that is malformed or in the future', async () => {
    await write();
    await query(databaseUrl(), `UPDATE audit_events SET at = at - interval '1 minute'`);
    const future = '9999999999999999-00000000-0000-0000-0000-000000000000';
    const all = await Promise.all(
      ['', 'x', '1-2', future, '1'.repeat(8000)].map((cursor) => read(0, cursor)),
    );
    const ids = await write();
    for (const reader of all) {
      await until(() => has(reader, ids));
      expect(idsOf(reader)).toEqual(ids);
    }
  });

  it('a reader that comes back gets from another instance all that it misses, in order, each once', async () => {
    const reader = await read(0);
    const first = await write();
    await until(() => has(reader, first));
    reader.close();
    const user = randomUUID();
    const missed = [...(await write(1, user)), ...(await write(1200, user)), ...(await write(1, user))];
    const back = await read(1, reader.lastEventId);
    await until(() => has(back, missed));
    expect(idsOf(back)).toEqual(missed);
    const later = await write(3);
    await until(() => has(back, later));
    expect(idsOf(back)).toEqual([...missed, ...later]);
  });

  it('leaves out no event whose transaction takes long, and keeps the order of a user', async () => {
    const reader = await read(0);
    const slow = new Client(databaseUrl());
    await slow.connect();
    const [user, late] = [randomUUID(), randomUUID()];
    await slow.query('BEGIN');
    await slow.query(
      `INSERT INTO audit_events (user_id, id, event, result, actor_type) VALUES ($1, $2, 'sign_in', 'ok', 'user')`,
      [user, late],
    );
    const others = await write();
    const before = reader.readings.length;
    await until(() => reader.readings.length >= before + 6);
    expect(has(reader, others)).toBe(false);
    const back = await read(1, reader.lastEventId);
    await slow.query('COMMIT');
    await slow.end();
    for (const one of [reader, back]) {
      await until(() => has(one, others));
      expect(idsOf(one)).toEqual([late, ...others]);
    }
  });

  it('readers that come and go get every event of transactions of any length, in the order of each user', async () => {
    const users = Array.from({ length: 8 }, (): string => randomUUID());
    const written = new Map(users.map((user) => [user, [] as string[]]));
    async function writeSlowly(user: string, i: number): Promise<void> {
      const client = new Client({
        connectionString: databaseUrl(),
        ...(i % 2 && { application_name: 'latchkey' }), // as the service
      });
      await client.connect();
      for (let n = 0; n < 5; n++) {
        await client.query('BEGIN');
        await delay(100 * Math.random());
        for (let k = 0; k < 3; k++) {
          const id = randomUUID();
          await client.query(
            `INSERT INTO audit_events (user_id, id, event, result, actor_type) VALUES ($1, $2, 'sign_in', 'ok', 'user')`,
            [user, id],
          );
          written.get(user)!.push(id);
        }
        await delay(n % 4 === 0 ? 1500 * Math.random() : 20);
        await client.query('COMMIT');
      }
      await client.end();
    }
    const got: string[] = [];
    const writing = { isOver: false };
    const reading = (async () => {
      let cursor = (await read(0)).lastEventId;
      for (let turn = 1; !writing.isOver; turn++) {
        const reader = await EventStreamReader.open(instances[turn % 2]!.url, KEY, cursor, { path });
        await Promise.race([delay(700 * Math.random()), until(() => writing.isOver)]);
        reader.close();
        got.push(...idsOf(reader));
        cursor = reader.lastEventId || cursor;
      }
    })();
    await until(() => readers.length > 0 && readers[0]!.lastEventId !== '');
    try {
      await Promise.all(users.map(writeSlowly));
      await until(() => [...written.values()].flat().every((id) => got.includes(id)));
    } finally {
      writing.isOver = true;
      await reading;
    }
    const all = [...written.values()].flat();
    const firsts = [...new Set(got)];
    expect(firsts).toHaveLength(all.length);
    for (const [, ids] of written) expect(firsts.filter((id) => ids.includes(id))).toEqual(ids);
  });

  it('100 streams of an instance; one more is refused', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, () => read(0)));
    await expect(EventStreamReader.open(instances[0]!.url, KEY, undefined, { path })).rejects.toThrow(
      /^429 .*slow_down/,
    );
    const ids = await write(5);
    for (const one of all) await until(() => has(one, ids));
    for (const one of all) expect(idsOf(one)).toEqual(ids);
    all[0]!.close();
    await until(() =>
      EventStreamReader.open(instances[0]!.url, KEY, undefined, { path }).then(
        (reader) => readers.push(reader) > 0,
        () => false,
      ),
    );
  });

  it('a slow reader gets everything once it reads again, the longest user agents too, and delays no other', async () => {
    const slow = await read(0);
    const fast = await read(0);
    slow.stopReading();
    const ids = Array.from({ length: 1500 }, () => randomUUID()); // 11 MB: more than the buffers of the kernel
    await query(
      databaseUrl(),
      `INSERT INTO audit_events (user_id, id, event, result, actor_type, user_agent, provider_user_id)
       SELECT $1, id, 'sign_in', 'ok', 'user', repeat(chr(1), 1024), repeat(chr(1), 255) FROM unnest($2::uuid[]) AS new (id)`,
      [randomUUID(), ids],
    );
    await until(() => has(fast, ids));
    expect(has(slow, ids)).toBe(false);
    slow.readAgain();
    await until(() => has(slow, ids));
    expect([idsOf(slow), idsOf(fast)]).toEqual([ids, ids]);
    const later = await write();
    await until(() => has(slow, later));
  });

  it('while the database is unavailable, streams stay open and silent; then they continue without a gap', async () => {
    const reader = await read(1);
    await proxy.refuse();
    const silentSince = performance.now();
    await expect(EventStreamReader.open(instances[1]!.url, KEY, undefined, { path })).rejects.toThrow(
      /^500 .*the database is unavailable/,
    );
    const ids = await write();
    await until(() => performance.now() - silentSince > 1500);
    expect(reader.readings.filter((at) => at > silentSince + 100)).toEqual([]);
    await proxy.restore();
    await until(() => has(reader, ids));
    expect(idsOf(reader)).toEqual(ids);
  });

  it('reads nothing while no stream is open', async () => {
    const reads = jest.spyOn(instances[0]!.app.get(AuditFeed), 'read');
    try {
      const reader = await read(0);
      await until(() => reads.mock.calls.length > 3);
      reader.close();
      await delay(1100); // a reading may be in progress
      reads.mockClear();
      await delay(1100);
      expect(reads).not.toHaveBeenCalled();
    } finally {
      reads.mockRestore();
    }
  });

  it('needs a service key with the right read', async () => {
    for (const [key, status] of [
      [KEY.toUpperCase(), 401],
      [PUSH_KEY, 403],
    ] as const) {
      const response = await EventStreamReader.ask(instances[0]!.url, key, undefined, { path });
      response.resume();
      expect(response.statusCode).toBe(status);
    }
  });

  it('at a stop streams end in order, and lose nothing', async () => {
    const service = await here.another();
    const reader = await EventStreamReader.open(service.url, KEY, undefined, { path });
    readers.push(reader);
    await until(() => reader.readings.length > 0);
    const stopped = service.close();
    const ids = await write();
    expect(await reader.ended).toBe(true);
    await stopped;
    const back = await read(0, reader.lastEventId);
    await until(() => has(reader, ids) || has(back, ids));
  });
});
