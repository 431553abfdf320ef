import { setImmediate as settled } from 'node:timers/promises';
import type { Origin } from '../audit/audit-event.js';
import type { AuditStore } from '../audit/audit.store.js';
import type { ChannelHistory } from '../channel/channel.history.js';
import type { Sql } from '../platform/database/sql.js';
import type { RecentEnds } from '../token/sessions/recent-ends.js';
import type { SessionStore } from '../token/sessions/session.store.js';
import type { UserLifecycles } from '../user/user-lifecycle.js';
import type { UserStore } from '../user/user.store.js';
import { SignOutService } from './sign-out.service.js';

it('one sign-out of a target at a time; equal calls share the next one, which begins after them', async () => {
  const began: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const history = {
    transactionOf: (userId: string) => {
      began.push(userId);
      return new Promise<object>((resolve, reject) =>
        ends.push((error) => (error ? reject(error) : resolve({ count: 2, provider: 'corp' }))),
      );
    },
  } as unknown as ChannelHistory;
  const sql = { batched: () => async () => true } as unknown as Sql;
  const signOuts = new SignOutService(
    history,
    {} as AuditStore,
    sql,
    {} as RecentEnds,
    {} as UserLifecycles,
    {} as UserStore,
    {} as SessionStore,
  );
  const call = (userId: string) =>
    signOuts
      .signOut('all', { userId, sessionId: null, deviceId: null }, {} as Origin)
      .catch((error: Error) => error.message);

  const first = call('a');
  await settled();
  const second = [call('a'), call('a')];
  const other = call('b');
  await settled();
  expect(began).toEqual(['a', 'b']);
  ends.shift()!(new Error('failed'));
  expect(await first).toBe('failed'); // of this run only
  await settled();
  const third = call('a');
  await settled();
  expect(began).toEqual(['a', 'b', 'a']);
  while (ends.length > 0) {
    ends.shift()!();
    await settled();
  }
  expect(await Promise.all([...second, other, third])).toEqual([2, 0, 2, 2]); // each run is counted once
  expect(began).toEqual(['a', 'b', 'a', 'a']);
  const later = call('a'); // nothing is left of earlier runs
  await settled();
  expect(began).toHaveLength(5);
  ends.shift()!();
  expect(await later).toBe(2);
});
