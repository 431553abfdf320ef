import type { DataSource } from 'typeorm';
import type { Settings } from '../platform/config/settings/settings.js';
import type { Sql } from '../platform/database/sql.js';
import { Events } from '../platform/events.js';
import { ChannelHistory } from './channel.history.js';

it('pages of histories are read with half of the pool, in turn, also when some fail', async () => {
  const open: { userId: string; end: (error?: Error) => void }[] = [];
  const query = (_statement: object, [userId]: [string]): Promise<never[]> =>
    new Promise((resolve, reject) =>
      open.push({ userId, end: (error) => (error ? reject(error) : resolve([])) }),
    );
  const sql = { query, batched: () => undefined } as unknown as Sql;
  const settings = { databasePoolSize: 4 } as Settings;
  const history = new ChannelHistory({} as DataSource, sql, new Events(), settings);
  const results = ['a', 'b', 'c', 'd', 'e'].map((userId) => history.read(userId, 0).catch(String));
  const order: string[] = [];
  while (open.length > 0) {
    expect(open.length).toBeLessThanOrEqual(2);
    const { userId, end } = open.shift()!;
    order.push(userId);
    end(userId === 'b' ? new Error('no') : undefined);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(await Promise.all(results)).toEqual([[], 'Error: no', [], [], []]);
});
