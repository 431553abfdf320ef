import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../src/database/data-source.js';
import { Sql, type Statement } from '../src/database/sql.js';
import { Events, type EndedSession } from '../src/events.js';
import { PastEndings, type PastPage } from '../src/token/ended-sessions.past.js';
import { EndedSessions } from '../src/token/ended-sessions.js';
import { endedSince, PLACE, type Place } from '../src/token/ended-sessions.store.js';
import { endSessions } from '../src/token/session.store.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from './support/database.js';
import { needs } from './support/installed.js';

/** How an instance's readings are changed for a test. */
interface Fault {
  /** Before the first one, so many seconds passed without any. */
  pause?: number;
  /** The database is a standby: it does not know of what is under way. */
  isStandby?: boolean;
  isAway?: boolean;
}

/** The statements of an instance, some of whose answers are those of another time, or of another machine. */
class FaultySql extends Sql {
  readonly fault: Fault = {};
  readonly asked: string[] = [];

  override async query<Row extends object>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const { pause = 0, isStandby = false, isAway = false } = this.fault;
    this.asked.push(statement.name);
    if (isAway) throw new Error('away');
    const rows = await super.query<Row & { at?: string; snapshot?: string }>(statement, values);
    if (pause > 0 && statement.name === 'ended-sessions-place') {
      const [moved] = await super.query<{ at: string }>(
        { name: 'moved', text: `SELECT ($1::timestamptz - make_interval(secs => $2))::text AS at` },
        [rows[0]!.at, pause],
      );
      return rows.map((row) => ({ ...row, at: moved!.at }));
    }
    return rows.map((row) => (isStandby && row.snapshot ? { ...row, snapshot: null, cursor: null } : row));
  }
}

/** Sessions that end, as an instance reads them from the database, without a service (contract §4, §8). */
describe.each([
  ...(process.env['CITUS_URL'] === undefined ? [['found by their numbers', false] as const] : []),
  ['found by their time, as on Citus', true] as const,
])('ended sessions, %s', (_form, isDistributed) => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let sql: FaultySql;
  let events: Events;
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 6))).initialize();
    events = new Events();
    sql = new FaultySql(dataSource, isDistributed, events);
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const query = <Row>(text: string, values: unknown[] = []): Promise<Row[]> => dataSource.query(text, values);

  /** @returns the id of a session that was signed out so many seconds ago, under a number that is of long ago */
  async function signedOut(secondsAgo: number, count = 1, deviceId: string | null = null): Promise<string[]> {
    const rows = await query<{ id: string }>(
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, signed_out_at, signed_out_xid)
       SELECT gen_random_uuid(), gen_random_uuid(), $3, '\\x00', t, t, $4
       FROM generate_series(1, $2), LATERAL (SELECT now() - make_interval(secs => $1)) AS at (t)
       RETURNING session_id AS id`,
      [secondsAgo, count, deviceId, isDistributed ? null : 1],
    );
    return rows.map(({ id }) => id);
  }
  async function signedIn(): Promise<{ userId: string; sessionId: string; deviceId: string | null }> {
    const session = { userId: randomUUID(), sessionId: randomUUID(), deviceId: randomUUID() };
    await query(
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
       VALUES ($1, $2, $3, '\\x00', now() + interval '1 day')`,
      [session.userId, session.sessionId, session.deviceId],
    );
    return session;
  }

  describe('are told', () => {
    let reader: EndedSessions;
    let told: EndedSession[];
    let readings: (string | null)[];
    let failures: unknown[];
    beforeEach(() => {
      jest.spyOn(Logger.prototype, 'debug').mockImplementation((what) => void failures.push(what));
      jest.useFakeTimers({
        doNotFake: [
          'Date',
          'performance',
          'hrtime',
          'nextTick',
          'queueMicrotask',
          'setImmediate',
          'setTimeout',
        ],
      });
      [told, readings, failures] = [[], [], []];
      events.on('session.ended', (one) => void told.push(one));
      events.on('sessions.read', ({ cursor }) => void readings.push(cursor));
      reader = new EndedSessions(sql, events);
    });
    afterEach(() => {
      reader.onApplicationShutdown();
      jest.useRealTimers();
      jest.restoreAllMocks();
    });

    /** Half a second passes. */
    const pass = (): void => {
      jest.advanceTimersByTime(500);
    };
    /** Until that is so; how many answers of the database that takes depends on what else the machine does. */
    async function awaited(holds: () => boolean): Promise<void> {
      const end = performance.now() + 10_000;
      while (!holds() && performance.now() < end) await query('SELECT');
      expect(holds()).toBe(true);
    }
    /** Until what was read has been told. */
    async function read(): Promise<void> {
      const before = readings.length;
      pass();
      await awaited(() => readings.length > before);
      await settled();
    }
    /** Whatever else it asks at once would have been answered by then. */
    async function settled(): Promise<void> {
      for (let i = 0; i < 3; i++) await query('SELECT');
    }

    it('once, with what is known of them, and then the place', async () => {
      await signedOut(60);
      await query(
        `INSERT INTO signing_keys (kid, public_jwk, encrypted_private_key, active_at, token_ttl) VALUES ('k', '{}', '\\x00', now(), 5000)`,
      );
      await reader.onModuleInit();
      const session = await signedIn();
      await dataSource.transaction((manager) => endSessions(manager, 'session', session, isDistributed));
      await read();
      const [one] = told;
      expect(told).toEqual([{ ...session, endedAt: expect.any(Date), until: expect.any(Date) }]);
      const age = Date.now() - one!.endedAt.getTime();
      expect(Math.abs(age)).toBeLessThan(5000);
      const left = (one!.until.getTime() - one!.endedAt.getTime()) / 1000;
      expect(left).toBeGreaterThanOrEqual(5000 + 60); // the longest token, by a clock that may be wrong
      expect(left).toBeLessThan(5000 + 70);
      expect(readings).toEqual([expect.stringMatching(/^\d+-\d+$/)]);
      expect([reader.includes(session.sessionId), reader.includes(randomUUID())]).toEqual([true, false]);
      await read();
      expect([told.length, readings.length]).toEqual([1, 2]);
    });

    it('twice a second, one reading at a time, until the instance stops', async () => {
      await reader.onModuleInit();
      const blocker = dataSource.createQueryRunner();
      await blocker.startTransaction();
      await blocker.query('LOCK TABLE refresh_tokens IN ACCESS EXCLUSIVE MODE');
      for (let i = 0; i < 3; i++) pass();
      await settled();
      await blocker.commitTransaction();
      await blocker.release();
      await awaited(() => readings.length > 0);
      await read();
      expect(readings).toHaveLength(2);
      reader.onApplicationShutdown();
      pass();
      await settled();
      expect(readings).toHaveLength(2);
    });

    it.each([
      ['by one who has just started', false],
      ['by one whose database was away', true],
    ])('%s: ten seconds again, since another machine may have another clock', async (_who, wasAway) => {
      await reader.onModuleInit();
      if (wasAway) {
        await read();
        sql.fault.isAway = true;
        pass();
        await settled();
        expect([readings.length, failures]).toEqual([1, [{ err: new Error('away') }]]);
        sql.fault.isAway = false;
      }
      const ids = await signedOut(9);
      await read();
      expect(told.map(({ sessionId }) => sessionId)).toEqual(ids);
    });

    // After an outage: in parts of ten seconds at first, and of up to ten minutes where little happened.
    it.each<[pause: number, sessions: number, parts: number]>([
      [25, 0, 2],
      [25, 99, 2],
      [25, 100, 3],
      [3600, 0, 11],
    ])(
      'after a pause of %i s, with %i in its first second, all at once, in %i parts',
      async (pause, n, parts) => {
        sql.fault.pause = pause;
        await reader.onModuleInit();
        const ids = [...(await signedOut(pause - 1, n)), ...(await signedOut(2))];
        await read();
        await awaited(() => readings.at(-1) !== null);
        await settled();
        expect(told.map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted());
        expect(readings).toEqual([...Array<null>(parts - 1).fill(null), expect.any(String)]);
        readings.splice(0);
        await read();
        expect(readings).toEqual([expect.any(String)]);
      },
    );

    needs({ 'a database without Citus': !isDistributed }).it(
      'by a standby as far as it sees, and no cursor; what was under way is found when there is a primary again',
      async () => {
        await reader.onModuleInit();
        await read();
        readings.splice(0);
        const [early, late] = [await signedIn(), await signedIn()];
        await dataSource.transaction(async (manager) => {
          await endSessions(manager, 'session', late);
          await manager.query(
            `UPDATE refresh_tokens SET signed_out_at = signed_out_at - interval '1 hour' WHERE session_id = $1`,
            [late.sessionId],
          );
          await dataSource.transaction((other) => endSessions(other, 'session', early));
          sql.fault.isStandby = true;
          await read();
          expect(told.map(({ sessionId }) => sessionId)).toEqual([early.sessionId]);
          expect(readings).toEqual([null]);
          sql.fault.isStandby = false;
        });
        await read();
        expect(told.map(({ sessionId }) => sessionId)).toEqual([early.sessionId, late.sessionId]);
        expect(readings).toEqual([null, expect.any(String)]);
      },
    );
  });

  describe('that are past', () => {
    async function past(lastEventId?: string): Promise<{ place: string; pages: PastPage[] }> {
      const { place, pages } = await new PastEndings(sql).begin(lastEventId);
      const all: PastPage[] = [];
      for await (const page of pages) all.push(page);
      return { place, pages: all };
    }
    const idsOf = (pages: readonly PastPage[]): string[] =>
      pages.flatMap(({ ended }) => ended.map(({ sessionId }) => sessionId));
    const at = (place: string): number => Number(place.split('-')[0]);

    it('are none where none has ended', async () => {
      await signedIn();
      expect((await past()).pages).toEqual([]);
    });

    it('are told, the first that ended first, and the place: ten seconds ago, for what is written late', async () => {
      const device = randomUUID();
      const ids = [...(await signedOut(3600, 1, device)), ...(await signedOut(60))];
      const { place, pages } = await past();
      expect(idsOf(pages)).toEqual(ids);
      const [first] = pages[0]!.ended;
      expect(first).toMatchObject({ userId: expect.any(String), deviceId: device });
      expect(Math.abs(Date.now() - 3600_000 - first!.endedAt.getTime())).toBeLessThan(5000);
      expect(first!.until.getTime()).toBeGreaterThan(Date.now());
      const age = Date.now() - at(place);
      expect(age).toBeGreaterThan(9000);
      expect(age).toBeLessThan(15_000);
    });

    it('are told from a cursor on, ten seconds before the last that was told', async () => {
      const ids = [
        ...(await signedOut(3600)),
        ...(await signedOut(65)),
        ...(await signedOut(60)),
        ...(await signedOut(5)),
      ];
      const [{ cursor }] = (await past()).pages as [PastPage];
      expect(idsOf((await past(cursor)).pages)).toEqual(ids.slice(-1));
      const early = cursor.replace(/^\d+/, (ms) => String(Number(ms) - 55_000));
      expect(idsOf((await past(early)).pages)).toEqual(ids.slice(1));
      const future = cursor.replace(/^\d+/, (ms) => String(Number(ms) + 60_000));
      for (const other of [future, `${at(cursor)}-${'9'.repeat(18)}`, 'x', ''])
        expect(idsOf((await past(other)).pages)).toEqual(ids);
    });

    // Also where many ended at one moment.
    it.each<[count: number, pages: number[], readings: number]>([
      [999, [999], 1],
      [1000, [1000], 2],
      [1001, [1000, 1], 2],
    ])('%i are told in pages of a thousand', async (count, pages, readings) => {
      const ids = await signedOut(60, count);
      const found = (await past()).pages;
      expect(found.map(({ ended }) => ended.length)).toEqual(pages);
      expect(idsOf(found).toSorted()).toEqual(ids.toSorted());
      expect(sql.asked.filter((name) => name.startsWith('ended-sessions-past'))).toHaveLength(readings);
    });

    it('are not told by a standby, which may not know of all', async () => {
      sql.fault.isStandby = true;
      await expect(new PastEndings(sql).begin(undefined)).rejects.toMatchObject({ error: 'server_error' });
    });
  });

  /** A dump of another cluster was restored, which has had more transactions: its numbers are of the future here. */
  needs({ 'one PostgreSQL, not Citus': !isDistributed }).describe('of an older cluster', () => {
    const FUTURE = 4_000_000_000;
    let restored: string[];
    beforeEach(async () => {
      restored = await signedOut(1800, 1200);
      await query(`UPDATE refresh_tokens SET signed_out_xid = ${FUTURE} + (random() * 1000)::int`);
    });
    const place = async (): Promise<Place> =>
      (await sql.query<Place & Record<string, unknown>>(PLACE, []))[0]!;
    async function pastFrom(cursor?: string): Promise<string[]> {
      const ids: string[] = [];
      const { pages } = await new PastEndings(sql).begin(cursor);
      for await (const { ended } of pages) ids.push(...ended.map(({ sessionId }) => sessionId));
      return ids;
    }

    it('are not told at every reading; what ends now is, also if its commit comes late', async () => {
      const before = await place();
      const [prompt, late] = [await signedIn(), await signedIn()];
      await dataSource.transaction(async (manager) => {
        await endSessions(manager, 'session', late);
        await manager.query(
          `UPDATE refresh_tokens SET signed_out_at = signed_out_at - interval '1 hour' WHERE session_id = $1`,
          [late.sessionId],
        );
        await dataSource.transaction((other) => endSessions(other, 'session', prompt));
        const { ended, place: between } = await endedSince(sql, before, true, 10);
        expect(ended.map(({ sessionId }) => sessionId)).toEqual([prompt.sessionId]);
        Object.assign(before, between);
      });
      const { ended } = await endedSince(sql, before, true, 10);
      expect(ended.map(({ sessionId }) => sessionId)).toEqual(expect.arrayContaining([late.sessionId]));
      expect(ended.length).toBeLessThan(3);
    });

    it('are told to a new reader, and not again to one that comes back with a cursor of this cluster', async () => {
      const { cursor } = await place();
      expect((await pastFrom()).toSorted()).toEqual(restored.toSorted());
      expect(await pastFrom(cursor!)).toEqual([]);
      const [recent] = await signedOut(5);
      expect(await pastFrom(cursor!)).toEqual([recent]);
    });

    it('are all told for a cursor of that cluster', async () => {
      const { cursor } = await place();
      const theirs = cursor!.replace(/\d+$/, String(FUTURE));
      expect((await pastFrom(theirs)).toSorted()).toEqual(restored.toSorted());
    });
  });

  it('are read by statements that are planned once for each connection', async () => {
    const one = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 1))).initialize();
    try {
      const alone = new FaultySql(one, isDistributed, events);
      const past = await new PastEndings(alone).begin('1-1');
      await past.pages.next();
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
      const reading = new EndedSessions(alone, events);
      await reading.onModuleInit();
      const done = once(events, 'sessions.read');
      jest.advanceTimersByTime(500);
      await done;
      reading.onApplicationShutdown();
      const rows = await one.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
      const form = isDistributed ? '-distributed' : '';
      const own = ['ended-sessions', 'ended-sessions-past', 'ended-sessions-start'].map(
        (name) => name + form,
      );
      expect(rows.map(({ name }) => name).toSorted()).toEqual(
        [
          ...own,
          'ended-sessions-place',
          ...(isDistributed ? ['ended-sessions-place-distributed'] : []),
        ].toSorted(),
      );
    } finally {
      jest.useRealTimers();
      await one.destroy();
    }
  });
});
