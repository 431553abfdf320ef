import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { Sql, type Statement } from '../../src/database/statements/sql.js';
import { Events, type EndedSession } from '../../src/events.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import type { Settings } from '../../src/config/settings/settings.js';
import { EndedSessions } from '../../src/token/revocation/ended-sessions.js';
import {
  EndedSessionStore,
  type PastPage,
  type Place,
} from '../../src/token/revocation/ended-sessions.store.js';
import { endSessions } from '../../src/token/sessions/session.store.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';

/** How an instance's readings are changed for a test. */
interface Fault {
  /** Seconds by which the database's clock is set forward. */
  ahead?: number;
  /** The database is a standby: it may lack sessions that have ended. */
  isStandby?: boolean;
  isAway?: boolean;
}

/** The statements of an instance, some of whose answers are those of another time, or of another machine. */
class FaultySql extends Sql {
  readonly fault: Fault = {};
  readonly asked: [name: string, rows: number][] = [];

  override async query<Row extends object>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const { ahead = 0, isStandby = false, isAway = false } = this.fault;
    if (isAway) throw new Error('away');
    const rows = await super.query<Row & Partial<Place>>(statement, values);
    this.asked.push([statement.name, rows.length]);
    return rows.map((row) => (row.at === undefined ? row : { ...row, isStandby, at: row.at + ahead * 1000 }));
  }
}

/** Sessions that end, as an instance reads them from the database, without a service (contract §4, §8). */
describe('ended sessions', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let sql: FaultySql;
  let events: Events;
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 6))).initialize();
    events = new Events();
    sql = new FaultySql(dataSource, false, events);
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const query = <Row>(text: string, values: unknown[] = []): Promise<Row[]> => dataSource.query(text, values);
  const idsOf = (ended: readonly EndedSession[]): string[] => ended.map(({ sessionId }) => sessionId);

  /** @returns the ids of sessions that were signed out so many seconds ago */
  async function signedOut(secondsAgo: number, count = 1, deviceId: string | null = null): Promise<string[]> {
    const rows = await query<{ id: string }>(
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, signed_out_at)
       SELECT gen_random_uuid(), gen_random_uuid(), $3, '\\x00', t, t
       FROM generate_series(1, $2), LATERAL (SELECT now() - make_interval(secs => $1)) AS at (t)
       RETURNING session_id AS id`,
      [secondsAgo, count, deviceId],
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
      reader = new EndedSessions(new EndedSessionStore(sql), events);
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
      await awaited(() => readings.length > before && readings.at(-1) !== null);
      await settled();
    }
    /** Whatever else it asks at once would have been answered by then. */
    async function settled(): Promise<void> {
      for (let i = 0; i < 3; i++) await query('SELECT');
    }

    it('once, with what is known of them, and then the cursor', async () => {
      await signedOut(60);
      await query(
        `INSERT INTO signing_keys (kid, public_jwk, encrypted_private_key, active_at, token_ttl) VALUES ('k', '{}', '\\x00', now(), 5000)`,
      );
      await reader.onModuleInit();
      const session = await signedIn();
      await dataSource.transaction((manager) => endSessions(manager, 'session', session));
      await read();
      const [one] = told;
      expect(told).toEqual([{ ...session, endedAt: expect.any(Date), until: expect.any(Date) }]);
      const age = Date.now() - one!.endedAt.getTime();
      expect(Math.abs(age)).toBeLessThan(5000);
      const left = (one!.until.getTime() - one!.endedAt.getTime()) / 1000;
      expect(left).toBeGreaterThanOrEqual(5000 + 60); // the longest token, by a clock that may be wrong
      expect(left).toBeLessThan(5000 + 70);
      expect(readings).toEqual([expect.stringMatching(/^\d+$/)]);
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

    it('after a database that was away, and after a pause: all that ended meanwhile', async () => {
      await reader.onModuleInit();
      sql.fault.isAway = true;
      pass();
      await settled();
      expect([readings, failures]).toEqual([[], [{ err: new Error('away') }]]);
      sql.fault.isAway = false;
      const ids = [...(await signedOut(4000, 1200)), ...(await signedOut(3000)), ...(await signedOut(1))];
      sql.fault.ahead = -7200; // two hours passed since the last reading
      reader.onApplicationShutdown();
      reader = new EndedSessions(new EndedSessionStore(sql), events);
      await reader.onModuleInit();
      sql.fault.ahead = 0;
      await read();
      expect(idsOf(told).toSorted()).toEqual(ids.toSorted());
      expect(readings).toEqual([null, expect.any(String)]); // written in pieces
    });

    it.each([1, 9, 60, 14 * 60])('if the commit came %i s later: at the next reading', async (seconds) => {
      await reader.onModuleInit();
      for (let i = 0; i < 5; i++) await read();
      const [late] = await signedOut(seconds);
      await read();
      expect(idsOf(told)).toEqual([late]);
      for (let i = 0; i < 5; i++) await read();
      expect(told).toHaveLength(1);
    });

    it('if the clock was set back by hours: those before it and after it', async () => {
      sql.fault.ahead = 3 * 3600;
      await reader.onModuleInit();
      const [before] = await signedOut(-3 * 3600); // by the clock as it was
      sql.fault.ahead = 0;
      const [after] = await signedOut(0);
      await read();
      expect(idsOf(told)).toEqual([after, before]);
    });

    it('and 10,000 that end together are not read again twice a second; late commits are found all the same', async () => {
      await reader.onModuleInit();
      await read();
      await signedOut(6, 10_000);
      await read();
      expect(told).toHaveLength(10_000);
      sql.asked.length = 0;
      for (let i = 0; i < 30; i++) await read();
      const rows = sql.asked.reduce((sum, [name, n]) => sum + (name === 'ended-sessions' ? n : 0), 0);
      expect(rows).toBeLessThanOrEqual(15 * 10_000); // each second one of 30 at most, also if the machine is fast
      const [late] = await signedOut(300);
      for (let i = 0; i < 256; i++) await read();
      expect(idsOf(told.slice(10_000))).toEqual([late]);
    }, 120_000);

    it('by a standby as far as it knows, without a cursor; the primary is read from where it was before', async () => {
      await reader.onModuleInit();
      await read();
      readings.splice(0);
      const [early] = await signedOut(1);
      Object.assign(sql.fault, { isStandby: true, ahead: 7200 }); // for two hours
      pass();
      await awaited(() => told.length > 0);
      await settled();
      expect([idsOf(told), readings]).toEqual([[early], [null]]);
      Object.assign(sql.fault, { isStandby: false });
      const [late] = await signedOut(-3600);
      await read();
      expect([idsOf(told), readings]).toEqual([
        [early, late],
        [null, expect.any(String)],
      ]);
    });

    it('once after a dump of another cluster was restored, however long ago they ended there', async () => {
      await reader.onModuleInit();
      await signedOut(1800, 1200);
      const recent = await signedOut(30, 10);
      for (let i = 0; i < 5; i++) await read();
      expect(idsOf(told).toSorted()).toEqual(recent.toSorted());
      expect(sql.asked.filter(([name, n]) => name === 'ended-sessions' && n > 10)).toEqual([]);
    });
  });

  describe('that are past', () => {
    async function past(lastEventId?: string): Promise<{ place: string; pages: PastPage[] }> {
      const { place, pages } = await new EndedSessionStore(sql).past(lastEventId);
      const all: PastPage[] = [];
      for await (const page of pages) all.push(page);
      return { place, pages: all };
    }
    const pastIds = (pages: readonly PastPage[]): string[] => pages.flatMap(({ ended }) => idsOf(ended));

    it('are told, the first that ended first, and the cursor: the time of the reading', async () => {
      const device = randomUUID();
      const ids = [...(await signedOut(3600, 1, device)), ...(await signedOut(60))];
      const { place, pages } = await past();
      expect(pastIds(pages)).toEqual(ids);
      const [first] = pages[0]!.ended;
      expect(first).toMatchObject({ userId: expect.any(String), deviceId: device });
      expect(Math.abs(Date.now() - 3600_000 - first!.endedAt.getTime())).toBeLessThan(5000);
      expect(first!.until.getTime()).toBeGreaterThan(Date.now());
      expect(Math.abs(Date.now() - Number(place))).toBeLessThan(5000);
    });

    it('are told from 15 minutes before a cursor on: as late as a commit may be', async () => {
      const ids = [
        ...(await signedOut(7200)),
        ...(await signedOut(3600 + 901)),
        ...(await signedOut(3600 + 895)),
        ...(await signedOut(3600)),
        ...(await signedOut(5)),
      ];
      const { place } = await past();
      const cursor = String(Number(place) - 3600_000);
      expect(pastIds((await past(cursor)).pages)).toEqual(ids.slice(2));
      expect(pastIds((await past(place)).pages)).toEqual(ids.slice(4));
      const future = String(Number(place) + 60_000);
      for (const other of [future, '9'.repeat(15), '1'.repeat(16), `${place}-1`, 'x', ''])
        expect(pastIds((await past(other)).pages)).toEqual(ids);
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
      expect(pastIds(found).toSorted()).toEqual(ids.toSorted());
      expect(found[0]!.cursor).toBe(String(found[0]!.ended.at(-1)!.endedAt.getTime()));
      expect(sql.asked.filter(([name]) => name === 'ended-sessions')).toHaveLength(readings);
    });

    it('are not told by a standby, which may not know of all, also if it became one meanwhile', async () => {
      const { pages } = await new EndedSessionStore(sql).past(undefined);
      sql.fault.isStandby = true;
      await expect(new EndedSessionStore(sql).past(undefined)).rejects.toMatchObject({
        error: 'server_error',
      });
      await expect(pages.next()).rejects.toMatchObject({ error: 'server_error' });
    });
  });

  it('are committed within ten minutes, or never: readings rely on it', async () => {
    const history = new ChannelHistory(dataSource, sql, events, {} as Settings);
    const session = await signedIn();
    const end = (ms: number): Promise<unknown> => {
      const clock = jest.spyOn(performance, 'now').mockReturnValueOnce(0);
      return history
        .transaction(async ({ manager }) => {
          await endSessions(manager, 'session', session);
          clock.mockReturnValueOnce(ms);
        })
        .finally(() => clock.mockRestore());
    };
    await expect(end(600_001)).rejects.toThrow('the transaction took too long');
    const rows = (): Promise<unknown[]> =>
      query('SELECT FROM refresh_tokens WHERE signed_out_at IS NOT NULL');
    expect(await rows()).toEqual([]);
    await end(600_000);
    expect(await rows()).toHaveLength(1);
  });

  it('are read by statements that are planned once for each connection', async () => {
    const one = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 1))).initialize();
    try {
      const store = new EndedSessionStore(new Sql(one));
      await (await store.past('1')).pages.next();
      const rows = await one.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
      expect(rows.map(({ name }) => name).toSorted()).toEqual(['ended-sessions', 'ended-sessions-place']);
    } finally {
      await one.destroy();
    }
  });
});
