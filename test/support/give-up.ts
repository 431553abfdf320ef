import { DataSource } from 'typeorm';
import { clientFor } from '../../src/database/client.js';
import { dataSourceOptions } from '../../src/database/data-source.js';
import { query } from './query.js';
import { until } from './until.js';

const GIVEN_UP_MS = 250;
const SLEEPERS = `SELECT FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(60)'`;

/**
 * A statement is given up by way of a URL, where only a cancel ends it on the server. Resolves when it has, and the pool has
 * gone on.
 *
 * @param adminUrl another way to the same server
 */
export async function giveUp(url: string, adminUrl: string): Promise<void> {
  const options = dataSourceOptions({ Client: clientFor(() => url), pooler: 'transaction' }, 1);
  const extra: object = { ...options.extra, query_timeout: GIVEN_UP_MS };
  const dataSource = await new DataSource({ ...options, extra }).initialize();
  try {
    await expect(dataSource.query('SELECT pg_sleep(60)')).rejects.toThrow('Query read timeout');
    await until(async () => (await query(adminUrl, SLEEPERS)).length === 0);
    await dataSource.query('SELECT 1');
  } finally {
    await dataSource.destroy();
  }
}
