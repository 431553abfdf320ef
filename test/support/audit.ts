import request from 'supertest';
import { toAuditEvent, type AuditEvent, type Origin } from '../../src/audit/audit-event.js';
import type { StoredAuditEvent } from '../../src/audit/audit-event.entity.js';
import { query } from './database.js';
import { until } from './waiting.js';

/** Returns the stored events, oldest first, without members that are absent. */
export async function storedEvents(databaseUrl: string): Promise<AuditEvent[]> {
  const rows = await query<StoredAuditEvent>(databaseUrl, 'SELECT * FROM audit_events ORDER BY at, id');
  return rows.map((row) => JSON.parse(JSON.stringify(toAuditEvent(row))) as AuditEvent);
}

/** Returns the events that some work causes, once there are so many of them: refusals are stored a moment later. */
export async function eventsOf(
  databaseUrl: string,
  count: number,
  work: () => Promise<unknown>,
): Promise<Omit<AuditEvent, 'id' | 'at'>[]> {
  const before = new Set((await storedEvents(databaseUrl)).map(({ id }) => id));
  await work();
  let events: AuditEvent[] = [];
  await until(async () => {
    events = (await storedEvents(databaseUrl)).filter(({ id }) => !before.has(id));
    return events.length >= count;
  }, `${count} events`);
  return events.map(({ id: _id, at: _at, ...members }) => members);
}

/** Origin of changes without a request. */
export const NOWHERE: Origin = {
  address: null,
  userAgent: null,
  requestId: null,
  actor: { type: 'user' },
};

/** User agent of the requests of `asBrowser`. */
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';

/** Members of each event that a request with USER_AGENT over loopback causes. */
export const HERE = {
  address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) as string,
  user_agent: USER_AGENT,
  request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
};

/** Calls as a browser, with an access token if there is one. */
export function asBrowser(url: string, token?: string) {
  const call = (method: 'get' | 'post' | 'patch' | 'put' | 'delete') => (path: string, body?: object) => {
    const test = request(url)[method](path).set('User-Agent', USER_AGENT);
    if (token !== undefined) void test.set('Authorization', `Bearer ${token}`);
    return body === undefined ? test : test.send(body);
  };
  return {
    get: call('get'),
    post: call('post'),
    patch: call('patch'),
    put: call('put'),
    delete: call('delete'),
  };
}
