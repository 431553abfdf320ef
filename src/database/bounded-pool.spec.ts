import { jest } from '@jest/globals';
import { isDatabaseAway } from '../errors/database-error.js';
import { boundedPg } from './bounded-pool.js';
import { dataSourceOptions } from './data-source.js';
import { DatabaseBusy, MOST_WAITING } from './database-busy.js';

describe('the pool of connections', () => {
  const pool = new boundedPg.Pool({ host: '127.0.0.1', port: 1, connectionTimeoutMillis: 100 });

  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['connect', () => pool.connect()],
    ['connect with a callback', () => new Promise((_, reject) => pool.connect((error) => reject(error!)))],
    ['query', () => pool.query('SELECT 1')],
  ])('refuses %s at once when too many wait', async (_name, call) => {
    jest.spyOn(pool, 'waitingCount', 'get').mockReturnValue(MOST_WAITING);
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DatabaseBusy);
    expect(isDatabaseAway(error)).toBe(true); // server_error with Retry-After (contract §3)
  });

  it('lets requests wait as long as there is room', async () => {
    jest.spyOn(pool, 'waitingCount', 'get').mockReturnValue(MOST_WAITING - 1);
    await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('is the one that TypeORM uses', () => {
    expect(dataSourceOptions('postgres://a@b/c', 1)).toMatchObject({ driver: boundedPg });
  });
});
