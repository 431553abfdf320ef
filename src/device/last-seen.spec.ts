import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Sql } from '../database/statements/sql.js';
import { Events } from '../events.js';
import { LastSeen } from './last-seen.js';

it('writes when devices were last used in parts, and one that fails keeps no other from being written', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const written: unknown[] = [];
  const query = async (_statement: object, [userIds]: unknown[][]): Promise<unknown[]> => {
    if (userIds!.includes('user 500')) throw new Error('it takes too long');
    written.push(...userIds!);
    return [];
  };
  const events = new Events();
  const lastSeen = new LastSeen({ query } as unknown as Sql, events);
  try {
    for (let i = 0; i < 3000; i++)
      events.emit('session.used', { userId: `user ${i}`, sessionId: `session ${i}`, deviceId: 'd' });
    await lastSeen.write();
    expect([written.length, written.includes('user 2999')]).toEqual([2000, true]);
    expect(warn).toHaveBeenCalledTimes(1);
  } finally {
    lastSeen.onApplicationShutdown();
    warn.mockRestore();
  }
});
