import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { systemOrigin, type AuditEvent } from '../../src/audit/audit-event.js';
import { AuditFeed } from '../../src/audit/audit-feed.js';
import { createAuditStore } from '../support/citus.js';
import { AuditStore } from '../../src/audit/audit.store.js';
import { AuditRefusals, type Refusal } from '../../src/audit/audit-refusals.js';
import { Clock } from '../../src/platform/database/clock.js';
import { DatabaseBusy } from '../../src/platform/database/limits.js';
import { UserLocks } from '../../src/audit/user-locks.js';
import { Sql } from '../../src/platform/database/sql.js';
import { Events } from '../../src/platform/events.js';
import { storedEvents } from '../support/audit.js';
import { createDatabase, query } from '../support/database.js';
import { signIn } from '../support/sign-in.js';
import { startTestService } from '../support/service.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

const refusal = (event: Refusal['event'], i = 0): Refusal => ({
  event,
  error: 'invalid_grant',
  reason: `refusal ${i}`,
  origin: systemOrigin(),
});
const LEFT_OUT = /^(\d+) events left out$/;
/** Numbers of stored and of left out events with a name. */
function counts(events: readonly AuditEvent[], name: Refusal['event']): [stored: number, leftOut: number] {
  const own = events.filter(({ event }) => event === name);
  const left = own.flatMap(({ reason }) => LEFT_OUT.exec(reason ?? '')?.[1] ?? []);
  return [own.length - left.length, left.reduce((sum, count) => sum + Number(count), 0)];
}

describe('refusals in the audit trail', () => {
  const { provider, service } = useService({ LOG_LEVEL: 'info' });
  beforeEach(() => query(service.databaseUrl, 'TRUNCATE audit_events'));
  afterEach(() => void jest.restoreAllMocks());

  const stored = () => storedEvents(service.databaseUrl);
  /** A trail of its own, on the database of the service. */
  function trailOf({
    clock = service.app.get<Clock>(Clock),
    locks = service.app.get<UserLocks>(UserLocks),
  } = {}) {
    const dataSource = service.app.get(DataSource);
    const events = new Events();
    let published = 0;
    events.on('audit.recorded', (recorded) => void (published += recorded.length));
    const store = createAuditStore(dataSource, service.app.get(Sql), events, {
      auditRetentionDays: 90,
      auditClaims: 'full',
    });
    return { trail: new AuditRefusals(store, locks, events, clock), published: () => published };
  }

  it('of one second 1,000 are stored, none of their names hides the others, and the rest is counted', async () => {
    const { trail, published } = trailOf();
    for (let i = 0; i < 5000; i++) trail.refused(refusal('refresh_refused', i));
    for (let i = 0; i < 3000; i++) trail.refused(refusal('sign_in_refused', i));
    for (let i = 0; i < 100; i++) trail.refused(refusal('service_key_refused', i));
    expect(published()).toBe(8100); // for metrics and the log, at once
    await trail.beforeApplicationShutdown();
    const events = await stored();
    expect(counts(events, 'refresh_refused')).toEqual([800, 4200]);
    expect(counts(events, 'sign_in_refused')).toEqual([100, 2900]);
    expect(counts(events, 'service_key_refused')).toEqual([100, 0]);
    expect(events).toHaveLength(1002);
    expect(events.find(({ reason }) => LEFT_OUT.test(reason!))).toMatchObject({
      result: 'refused',
      actor: { type: 'system' },
    });
  });

  it('the next second has its own thousand', async () => {
    const { trail } = trailOf();
    for (let i = 0; i < 900; i++) trail.refused(refusal('refresh_refused'));
    const leftOut = `SELECT FROM audit_events WHERE reason LIKE '%left out'`;
    await until(async () => (await query(service.databaseUrl, leftOut)).length > 0, 'the rest is counted');
    trail.refused(refusal('refresh_refused'));
    await trail.beforeApplicationShutdown();
    expect(counts(await stored(), 'refresh_refused')).toEqual([801, 100]);
  });

  it('are written after an outage of the database, and not again after another error', async () => {
    const { trail, published } = trailOf();
    const insert = jest.spyOn(AuditStore.prototype, 'insertRefusals');
    insert.mockRejectedValueOnce(new DatabaseBusy('away'));
    trail.refused(refusal('refresh_refused'));
    await until(async () => (await stored()).length === 1, 'written');
    insert.mockClear().mockRejectedValueOnce(Object.assign(new Error('no'), { code: '22021' }));
    trail.refused(refusal('refresh_refused'));
    await trail.beforeApplicationShutdown();
    await trail.beforeApplicationShutdown();
    expect([insert.mock.calls.length, (await stored()).length, published()]).toEqual([1, 1, 2]);
  });

  it('have the time of the refusal, in their order', async () => {
    const clock = service.app.get(Clock);
    await until(async () => {
      await query(service.databaseUrl, 'TRUNCATE audit_events');
      const { trail } = trailOf();
      const before = clock.now();
      for (let i = 0; i < 20; i++) trail.refused(refusal('refresh_refused', i));
      const after = clock.now();
      await delay(100); // less than the trail waits for others
      await trail.beforeApplicationShutdown();
      if (clock.now() > before + 350) return false; // the machine has stalled
      const events = await stored();
      expect(events.map(({ reason }) => reason)).toEqual(
        Array.from({ length: 20 }, (_, i) => `refusal ${i}`),
      );
      for (const { at } of events) {
        expect(Date.parse(at)).toBeGreaterThan(before - 50);
        expect(Date.parse(at)).toBeLessThan(after + 50);
      }
      return true;
    });
  });

  it.each([-3_600_000, 3_600_000])('do not have the time of a clock that is %d ms off', async (off) => {
    const clock = service.app.get(Clock);
    const before = clock.now();
    const { trail } = trailOf({ clock: { now: () => clock.now() + off } as Clock });
    for (let i = 0; i < 20; i++) trail.refused(refusal('refresh_refused', i));
    await trail.beforeApplicationShutdown();
    const events = await stored();
    expect(events.map(({ reason }) => reason)).toEqual(Array.from({ length: 20 }, (_, i) => `refusal ${i}`));
    expect(Date.parse(events[0]!.at)).toBeGreaterThan(before - 500); // as late as a reader expects
    expect(Date.parse(events[0]!.at)).toBeLessThan(clock.now() + 50);
  });

  it('whose transaction takes long are in streams and webhooks, though these read on meanwhile', async () => {
    const feed = service.app.get(AuditFeed);
    const steps = new EventTarget();
    const locks: UserLocks = {
      lock: async (manager, userIds) => {
        steps.dispatchEvent(new Event('begun'));
        await once(steps, 'go on');
        return service.app.get(UserLocks).lock(manager, userIds);
      },
    };
    let { cursor } = await feed.read();
    const { trail } = trailOf({ locks });
    const begun = once(steps, 'begun');
    trail.refused(refusal('refresh_refused'));
    await begun;
    await delay(1500);
    ({ cursor } = await feed.read(cursor));
    steps.dispatchEvent(new Event('go on'));
    const found: unknown[] = [];
    await until(async () => {
      const page = await feed.read(cursor);
      cursor = page.cursor;
      found.push(...page.events.map(({ event }) => event.reason));
      return found.length > 0;
    });
    expect(found).toEqual(['refusal 0']);
    await trail.beforeApplicationShutdown();
  });

  it('of a user who was removed while they waited have nothing personal', async () => {
    const { trail } = trailOf();
    const { user_id: userId } = await signIn(service.url);
    await query(service.databaseUrl, 'TRUNCATE audit_events');
    const origin = { ...systemOrigin(), address: '192.0.2.1' };
    const removed = randomUUID();
    for (const id of [userId, removed])
      trail.refused({ ...refusal('service_key_refused'), userId: id, origin });
    await trail.beforeApplicationShutdown();
    const found = (await stored()).map(
      ({ user_id, address, reason }) => [user_id, { address, reason }] as const,
    );
    expect(new Map(found)).toEqual(
      new Map<string, object>([
        [userId, { address: '192.0.2.1', reason: 'refusal 0' }],
        [removed, {}],
      ]),
    );
  });

  it('a flood of refused requests is limited and counted in the log, and hides no other line', async () => {
    type Line = { event?: string; msg?: string; left_out?: number };
    const before = service.log.length;
    const count = (is: (line: Line) => boolean) => {
      const lines = service.log.slice(before).map((line) => JSON.parse(line) as Line);
      const leftOut = lines.filter(is).reduce((sum, { left_out = 0 }) => sum + left_out, 0);
      const written = lines.filter((line) => is(line) && line.left_out === undefined).length;
      return { leftOut, all: leftOut + written };
    };
    const audited = () => count(({ event }) => event === 'refresh_refused');
    const requests = () => count(({ msg = '' }) => /^requests?$/.test(msg));
    // Pipelined, as many as a connection may have: more than a hundred a second, also on a busy machine.
    const body = 'refresh_token=x';
    const form = `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}`;
    const one = `POST /oauth2/refresh HTTP/1.1\r\nHost: a\r\n${form}\r\n\r\n${body}`;
    const sockets = Array.from({ length: 12 }, () =>
      connect(Number(new URL(service.url).port), 'localhost').resume(),
    );
    let sent = 0;
    while (audited().leftOut === 0 || requests().leftOut === 0) {
      for (const socket of sockets) socket.write(one.repeat(16));
      sent += 16 * sockets.length;
      await until(() => audited().all === sent && requests().all === sent, 'all are logged or counted');
    }
    for (const socket of sockets) socket.destroy();
    const { user_id: userId } = await signIn(service.url);
    expect(service.log.slice(before).filter((line) => line.includes(userId))).toHaveLength(1);
    await until(async () => {
      const [written, leftOut] = counts(await stored(), 'refresh_refused');
      return written + leftOut === sent;
    }, 'all are stored or counted');
  });

  it('a refused request is logged with its error and address', async () => {
    const { headers } = await request(service.url).get('/me').expect(401);
    const line = service.log
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .find(({ request_id }) => request_id === headers['x-request-id']);
    const facts = { msg: 'request', method: 'GET', path: '/me', status: 401, error: 'invalid_token' };
    expect(line).toMatchObject(facts);
    expect(line!['address']).toMatch(/127\.0\.0\.1|::1/);
  });

  // From here on, the lines of Nest's loggers are in the log of the instance that was started last.
  it('with AUDIT_RETENTION_DAYS=0 nothing is stored, of changes neither; the log stays', async () => {
    const database = await createDatabase();
    const here = await startTestService({
      ...provider.env(),
      DATABASE_URL: database.url,
      AUDIT_RETENTION_DAYS: '0',
      LOG_LEVEL: 'info',
    });
    try {
      const tokens = await signIn(here.url);
      await request(here.url).post('/oauth2/revoke').send({ token: tokens.refresh_token }).expect(200);
      await request(here.url).post('/oauth2/refresh').send(tokens).expect(401);
      const logged = here.log
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .flatMap(({ context, event }) => (context === 'Audit' ? [event] : []));
      expect(logged).toEqual(['key_made', 'sign_in', 'sign_out', 'refresh_refused']);
      await here.app.get(AuditRefusals).beforeApplicationShutdown();
      expect(await storedEvents(database.url)).toEqual([]);
    } finally {
      await here.close();
      await database.close();
    }
  });

  it('that wait are written before the service stops', async () => {
    const database = await createDatabase();
    const here = await startTestService({ DATABASE_URL: database.url });
    await request(here.url).post('/oauth2/refresh').send({ refresh_token: 'x' }).expect(401);
    await here.close();
    expect((await storedEvents(database.url)).map(({ event }) => event)).toEqual([
      'key_made',
      'refresh_refused',
    ]);
    await database.close();
  });

  it.each([
    ['network', /^(127\.0\.0\.0\/24|0:0:0::\/48)$/],
    ['off', undefined],
  ])('AUDIT_ADDRESSES=%s: addresses of events, sessions and devices', async (AUDIT_ADDRESSES, expected) => {
    const database = await createDatabase();
    const here = await startTestService({ ...provider.env(), DATABASE_URL: database.url, AUDIT_ADDRESSES });
    try {
      await signIn(here.url, 'ada', { device_id: '7d444840-9dc0-41d1-b245-5ffdce74fad2' });
      const rows = await query<{ address: string | null }>(
        database.url,
        `SELECT address FROM audit_events WHERE event = 'sign_in' UNION ALL SELECT address FROM refresh_tokens
         UNION ALL SELECT address FROM devices`,
      );
      const address = expected ? expect.stringMatching(expected) : null;
      expect(rows).toEqual([{ address }, { address }, { address }]);
    } finally {
      await here.close();
      await database.close();
    }
  });
});
