import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Background } from '../../src/platform/background.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql, type Statement } from '../../src/platform/database/sql.js';
import { Events, type EndedSession } from '../../src/platform/events.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { SessionFeed } from '../../src/token/feed/session-feed.js';
import { SessionFeedStore, type PastPage, type FeedMoment } from '../../src/token/feed/session-feed.store.js';
import { endSessions } from '../../src/device/end-sessions.js';
import { ClaimsChangesStore } from '../../src/user/claims-changes.store.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { use } from '../support/use.js';

/** Fault of the database. */
interface Fault {
  /** Seconds by which its clock is ahead. */
  ahead?: number;
  /** It is a standby. */
  isStandby?: boolean;
  isAway?: boolean;
  /** Starts of transactions in progress besides the real ones. */
  inProgress?: FeedMoment['inProgress'];
}

/** Changes answers of the database as a fault would. */
class FaultySql extends Sql {
  readonly fault: Fault = {};
  readonly asked: [name: string, rows: number][] = [];

  override async query<Row extends object>(statement: Statement, values: unknown[]): Promise<Row[]> {
    const { ahead = 0, isStandby = false, isAway = false, inProgress = {} } = this.fault;
    if (isAway) throw new Error('away');
    const rows = await super.query<Row & Partial<FeedMoment>>(statement, values);
    this.asked.push([statement.name, rows.length]);
    return rows.map((row) => {
      if (row.at === undefined) return row;
      const all = { ...row.inProgress, ...inProgress };
      return { ...row, isStandby, at: row.at + ahead * 1_000_000, inProgress: all };
    });
  }
}

const storeOn = (sql: Sql): SessionFeedStore => new SessionFeedStore(sql, new ClaimsChangesStore(sql));

/** SessionFeed and its store on a database, without a service. */
describe('ended sessions', () => {
  let sql: FaultySql;
  let events: Events;
  const database = use(() => createDatabase());
  const dataSource = use(
    () => new DataSource(unhurriedOptions(dataSourceOptions(database.url, 6))).initialize(),
    (one) => one.destroy(),
  );
  beforeEach(async () => {
    events = new Events();
    sql = new FaultySql(dataSource, false, events);
    await dataSource.query('TRUNCATE refresh_tokens, signing_keys');
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

  describe('are emitted', () => {
    let reader: SessionFeed;
    let emitted: EndedSession[];
    let readings: (string | null)[];
    let failures: unknown[];
    let background: Background;
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
      [emitted, readings, failures] = [[], [], []];
      background = new Background();
      events.on('session.ended', (one) => void emitted.push(one));
      events.on('sessions.read', ({ cursor }) => void readings.push(cursor));
      reader = new SessionFeed(storeOn(sql), events, background);
    });
    afterEach(() => {
      background.onApplicationShutdown();
      jest.useRealTimers();
      jest.restoreAllMocks();
    });

    /** Lets half a second pass. */
    const pass = (): void => {
      jest.advanceTimersByTime(500);
    };
    /** Waits until the condition holds. */
    async function awaited(holds: () => boolean): Promise<void> {
      const end = performance.now() + 10_000;
      while (!holds() && performance.now() < end) await query('SELECT');
      expect(holds()).toBe(true);
    }
    /** Waits for one complete reading. */
    async function read(): Promise<void> {
      const before = readings.length;
      pass();
      await awaited(() => readings.length > before && readings.at(-1) !== null);
      await settled();
    }
    /** Waits for the answers to all queries. */
    async function settled(): Promise<void> {
      for (let i = 0; i < 3; i++) await query('SELECT');
    }

    it('once, with their members, and then the cursor', async () => {
      await signedOut(60);
      await query(
        `INSERT INTO signing_keys (kid, public_jwk, encrypted_private_key, active_at, token_ttl) VALUES ('k', '{}', '\\x00', now(), 5000)`,
      );
      await reader.onModuleInit();
      const session = await signedIn();
      await dataSource.transaction((manager) => endSessions(manager, { ...session, scope: 'session' }));
      await read();
      const [one] = emitted;
      expect(emitted).toEqual([
        { ...session, cause: null, endedAt: expect.any(Date), until: expect.any(Date) },
      ]);
      const age = Date.now() - one!.endedAt.getTime();
      expect(Math.abs(age)).toBeLessThan(5000);
      const left = (one!.until.getTime() - one!.endedAt.getTime()) / 1000;
      expect(left).toBeGreaterThanOrEqual(5000 + 60); // the longest token, by a clock that may be wrong
      expect(left).toBeLessThan(5000 + 70);
      expect(readings).toEqual([expect.stringMatching(/^\d+$/)]);
      expect([reader.includes(session.sessionId), reader.includes(randomUUID())]).toEqual([true, false]);
      await read();
      expect([emitted.length, readings.length]).toEqual([1, 2]);
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
      background.onApplicationShutdown();
      pass();
      await settled();
      expect(readings).toHaveLength(2);
    });

    it('after an outage of the database and after a pause: all that ended in between', async () => {
      await reader.onModuleInit();
      sql.fault.isAway = true;
      pass();
      await settled();
      expect([readings, failures]).toEqual([[], [expect.objectContaining({ err: new Error('away') })]]);
      sql.fault.isAway = false;
      const ids = [...(await signedOut(4000, 1200)), ...(await signedOut(3000)), ...(await signedOut(1))];
      sql.fault.ahead = -7200; // two hours passed since the last reading
      background.onApplicationShutdown();
      background = new Background();
      reader = new SessionFeed(storeOn(sql), events, background);
      await reader.onModuleInit();
      sql.fault.ahead = 0;
      await read();
      expect(idsOf(emitted).toSorted()).toEqual(ids.toSorted());
      expect(readings).toEqual([null, expect.any(String)]); // written in pieces
    });

    it.each([1, 60, 14 * 60])('if the commit came %i s later: at the next reading', async (seconds) => {
      sql.fault.inProgress = { 1: (Date.now() - seconds * 1000) * 1000 };
      await reader.onModuleInit();
      await signedOut(200, 300); // of which each reading must not read all again
      await read();
      expect(emitted).toEqual([]);
      const [late] = await signedOut(seconds);
      sql.fault.inProgress = {};
      await read();
      expect(idsOf(emitted).filter((id) => id === late)).toEqual([late]);
      sql.asked.length = 0;
      await read();
      const rows = sql.asked.filter(([name]) => name === 'ended-sessions').map(([, n]) => n);
      expect(Math.max(...rows)).toBeLessThan(10);
    });

    it('without a transaction in progress, as after a failure of a Citus node: within two minutes', async () => {
      await reader.onModuleInit();
      const [late] = await signedOut(15 * 60);
      for (let left = 240; emitted.length === 0 && left > 0; left--) await read();
      expect(idsOf(emitted)).toEqual([late]);
    });

    it('if the clock was set back by hours: those before it and after it', async () => {
      sql.fault.ahead = 3 * 3600;
      await reader.onModuleInit();
      const [before] = await signedOut(-3 * 3600); // by the clock as it was
      sql.fault.ahead = 0;
      const [after] = await signedOut(0);
      await read();
      expect(idsOf(emitted)).toEqual([after, before]);
    });

    it('and 10,000 that end together are read for five seconds only', async () => {
      await reader.onModuleInit();
      await signedOut(0, 10_000);
      for (sql.fault.ahead = 0; sql.fault.ahead < 15; sql.fault.ahead += 0.5) await read();
      expect(emitted).toHaveLength(10_000);
      const rows = sql.asked.reduce((sum, [name, n]) => sum + (name === 'ended-sessions' ? n : 0), 0);
      expect(rows).toBeLessThanOrEqual(12 * 10_000);
    });

    it('by a standby without a cursor; the primary is read again from its own last reading', async () => {
      await reader.onModuleInit();
      await read();
      readings.splice(0);
      const [early] = await signedOut(1);
      Object.assign(sql.fault, { isStandby: true, ahead: 7200 }); // for two hours
      pass();
      await awaited(() => emitted.length > 0);
      await settled();
      expect([idsOf(emitted), readings]).toEqual([[early], [null]]);
      Object.assign(sql.fault, { isStandby: false });
      const [late] = await signedOut(-3600);
      await read();
      expect([idsOf(emitted), readings]).toEqual([
        [early, late],
        [null, expect.any(String)],
      ]);
    });

    it('but not if a restored dump holds sessions that ended long before it', async () => {
      await reader.onModuleInit();
      await signedOut(1800, 1200);
      const recent = await signedOut(30, 10);
      for (let i = 0; i < 240; i++) await read();
      expect(idsOf(emitted).toSorted()).toEqual(recent.toSorted());
    });
  });

  describe('that are past', () => {
    type Page = Required<Pick<PastPage, 'ended' | 'cursor'>>;
    /** @returns the pages of sessions */
    async function drain(pages: AsyncGenerator<PastPage, void>): Promise<Page[]> {
      const all: Page[] = [];
      for await (const { ended = [], cursor } of pages) if (ended.length > 0) all.push({ ended, cursor });
      return all;
    }
    async function past(lastEventId?: string): Promise<{ cursor: string; pages: Page[] }> {
      const { cursor, pages } = await storeOn(sql).past(lastEventId);
      return { cursor, pages: await drain(pages) };
    }
    const pastIds = (pages: readonly Page[]): string[] => pages.flatMap(({ ended }) => idsOf(ended));

    it('are read in order; the cursor is the time of the reading', async () => {
      const device = randomUUID();
      const ids = [...(await signedOut(3600, 1, device)), ...(await signedOut(60))];
      const { cursor, pages } = await past();
      expect(pastIds(pages)).toEqual(ids);
      const [first] = pages[0]!.ended;
      expect(first).toMatchObject({ userId: expect.any(String), deviceId: device });
      expect(Math.abs(Date.now() - 3600_000 - first!.endedAt.getTime())).toBeLessThan(5000);
      expect(first!.until.getTime()).toBeGreaterThan(Date.now());
      expect(Math.abs(Date.now() - Number(cursor))).toBeLessThan(5000);
    });

    it('are read from 15 minutes before a cursor, the latest commit', async () => {
      const ids = [
        ...(await signedOut(7200)),
        ...(await signedOut(3600 + 901)),
        ...(await signedOut(3600 + 895)),
        ...(await signedOut(3600)),
        ...(await signedOut(5)),
      ];
      const { cursor } = await past();
      const hourAgo = String(Number(cursor) - 3600_000);
      expect(pastIds((await past(hourAgo)).pages)).toEqual(ids.slice(2));
      expect(pastIds((await past(cursor)).pages)).toEqual(ids.slice(4));
      const future = String(Number(cursor) + 60_000);
      for (const other of [future, '9'.repeat(15), '1'.repeat(16), `${cursor}-1`, 'x', ''])
        expect(pastIds((await past(other)).pages)).toEqual(ids);
    });

    it('are read in pages of a thousand, also if all ended at one moment', async () => {
      const ids = await signedOut(60, 1001);
      const found = (await past()).pages;
      expect(found.map(({ ended }) => ended.length)).toEqual([1000, 1]);
      expect(pastIds(found).toSorted()).toEqual(ids.toSorted());
      expect(found[0]!.cursor).toBe(String(found[0]!.ended.at(-1)!.endedAt.getTime()));
    });

    it('are not read from a standby, also if it became one during the reading', async () => {
      const { pages } = await storeOn(sql).past(undefined);
      sql.fault.isStandby = true;
      await expect(storeOn(sql).past(undefined)).rejects.toMatchObject({
        error: 'server_error',
      });
      await expect(drain(pages)).rejects.toMatchObject({ error: 'server_error' });
    });
  });

  it('are committed within ten minutes or rolled back: readings rely on it', async () => {
    const history = new ChannelHistory(dataSource, sql, events, {} as Settings);
    const session = await signedIn();
    const end = (ms: number): Promise<unknown> => {
      const clock = jest.spyOn(performance, 'now').mockReturnValueOnce(0);
      return history
        .transaction(async ({ manager }) => {
          await endSessions(manager, { ...session, scope: 'session' });
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
});
