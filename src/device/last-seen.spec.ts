import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Sql } from '../database/sql.js';
import { Events } from '../events.js';
import { forEachLimited, LastSeen } from './last-seen.js';

let events: Events;
let lastSeen: LastSeen;

/** @param write is called with the users of each statement for devices */
function start(write: (userIds: unknown[]) => Promise<unknown>): void {
  events = new Events();
  const sql = {
    query: async ({ name }: { name: string }, [userIds]: unknown[][]) =>
      name === 'devices-last-use' ? write(userIds!) : undefined,
  };
  lastSeen = new LastSeen(sql as unknown as Sql, events);
}
function use(sessions: number): void {
  for (let i = 0; i < sessions; i++)
    events.emit('session.used', { userId: `user ${i}`, sessionId: `session ${i}`, deviceId: 'd' });
}
afterEach(() => {
  lastSeen.onApplicationShutdown();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('writes when devices were last used in parts, and one that fails keeps no other from being written', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const written: unknown[] = [];
  start(async (userIds) => {
    if (userIds.includes('user 500')) throw new Error('it takes too long');
    written.push(...userIds);
  });
  use(3000);
  await lastSeen.write();
  expect([written.length, written.includes('user 2999')]).toEqual([2000, true]);
  expect(warn).toHaveBeenCalledTimes(1);
});

it('keeps a bounded number of sessions until the next write', async () => {
  const written: number[] = [];
  start(async (userIds) => written.push(userIds.length));
  use(25_000);
  await lastSeen.write();
  expect(written).toEqual(Array<number>(20).fill(1000));
  use(1);
  await lastSeen.write();
  expect(written.at(-1)).toBe(1);
});

it('writes once at a time, however slow the database is', async () => {
  jest.useFakeTimers();
  let asked = 0;
  start(() => new Promise(() => void asked++));
  for (let turn = 0; turn < 5; turn++) {
    use(1);
    await jest.advanceTimersByTimeAsync(5000);
  }
  expect(asked).toBe(1);
});

const ITEMS = Array.from({ length: 1000 }, (_, i) => i);

describe('a few at a time', () => {
  it('what fails leaves the others alone', async () => {
    const done: number[] = [];
    const work = async (item: number): Promise<void> => {
      if (item % 3 === 0) throw new Error('its node is away');
      done.push(item);
    };
    await expect(forEachLimited(ITEMS, work)).rejects.toThrow('its node is away');
    expect(done).toHaveLength(666);
  });

  it('ends soon when nothing works', async () => {
    let tried = 0;
    const work = async (): Promise<void> => {
      tried++;
      throw new Error('the database is away');
    };
    await expect(forEachLimited(ITEMS, work)).rejects.toThrow('the database is away');
    expect(tried).toBeLessThan(30);
  });
});
