import { jest } from '@jest/globals';
import { Background } from '../platform/background.js';
import type { DataSource } from 'typeorm';
import type { Sql } from '../platform/database/sql.js';
import { Events } from '../platform/events.js';
import type { SessionStore } from '../token/sessions/session.store.js';
import type { UserLifecycles } from '../user/user-lifecycle.js';
import type { UserStore } from '../user/user.store.js';
import { DeviceStore } from './device.store.js';
import { LastUseWriter } from './last-use-writer.js';

let events: Events;
const background = new Background();
let writer: LastUseWriter;

/** @param write is called with the users of each statement for devices */
function start(write: (userIds: unknown[]) => Promise<unknown>): void {
  events = new Events();
  const sql = { query: (_: object, [userIds]: unknown[][]) => write(userIds!), batched: () => undefined };
  const store = { markUsed: async () => undefined };
  const sessions = store as unknown as SessionStore;
  const devices = new DeviceStore({} as DataSource, sql as unknown as Sql, sessions, {} as UserLifecycles);
  writer = new LastUseWriter(sessions, devices, store as unknown as UserStore, events, background);
}
function use(sessions: number): void {
  for (let i = 0; i < sessions; i++)
    events.emit('session.used', { userId: `user ${i}`, sessionId: `session ${i}`, deviceId: 'd' });
}
afterEach(() => {
  background.onApplicationShutdown();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('writes when devices were last used in parts, and one that fails keeps no other from being written', async () => {
  const written: unknown[] = [];
  start(async (userIds) => {
    if (userIds.includes('user 500')) throw new Error('it takes too long');
    written.push(...userIds);
  });
  use(3000);
  await expect(writer.write()).rejects.toThrow('takes too long');
  expect([written.length, written.includes('user 2999')]).toEqual([2000, true]);
});

it('keeps a bounded number of sessions until the next write', async () => {
  const written: number[] = [];
  start(async (userIds) => written.push(userIds.length));
  use(25_000);
  await writer.write();
  expect(written).toEqual(Array<number>(20).fill(1000));
  use(1);
  await writer.write();
  expect(written.at(-1)).toBe(1);
});

it('writes once at a time, however slow the database is', async () => {
  jest.useFakeTimers();
  let writes = 0;
  start(() => new Promise(() => void writes++));
  writer.onModuleInit();
  for (let tick = 0; tick < 5; tick++) {
    use(1);
    await jest.advanceTimersByTimeAsync(5000);
  }
  expect(writes).toBe(1);
});
