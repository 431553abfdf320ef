import { jest } from '@jest/globals';
import request from 'supertest';
import { Sql } from '../src/database/sql.js';
import { createDatabase, type TestDatabase } from './support/database.js';
import { query } from './support/query.js';
import { startTestService, type TestService } from './support/service.js';
import { until } from './support/until.js';

/** Contract §4: 503 while the database cannot be written to. Where it is away: test/outage.spec.ts, standby.spec.ts. */
describe('GET /health/ready', () => {
  let database: TestDatabase;
  let service: TestService;

  beforeAll(async () => {
    database = await createDatabase();
    service = await startTestService({ DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await service?.close();
    await database?.drop();
  });
  afterEach(() => jest.restoreAllMocks());

  const ready = async (): Promise<unknown[]> => {
    const { status, body } = await request(service.url).get('/health/ready');
    return [status, body];
  };
  const UP = [200, { status: 'ok', database: 'up' }];
  const DOWN = [503, { status: 'unavailable', database: 'down' }];

  /** What a failover does: connections end, and new ones are of a server that can only be read, or can be written to again. */
  async function readOnly(setting: 'on' | 'off'): Promise<void> {
    const name = new URL(database.url).pathname.slice(1);
    await query(
      database.url,
      `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${setting}; COMMIT;
       SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`,
    );
  }

  it('writes once a second at most, however many ask', async () => {
    await ready();
    const sql = jest.spyOn(service.app.get(Sql), 'query');
    const writes = (): number => sql.mock.calls.filter(([{ name }]) => name === 'write-check').length;
    const began = performance.now();
    for (let i = 0; i < 30; i++) expect(await Promise.all([ready(), ready()])).toEqual([UP, UP]);
    expect(writes()).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 1000));
  });

  it('is 503 within seconds while the server is read-only, 200 afterwards, and the log says why', async () => {
    await readOnly('on');
    await until(async () => (await ready())[0] === 503);
    expect(await ready()).toEqual(DOWN);
    expect(service.log.filter((line) => line.includes('not ready'))).toEqual([
      expect.stringContaining('the database is read-only'),
    ]);
    await readOnly('off');
    await until(async () => (await ready())[0] === 200);
    expect(service.log.join('')).toContain('the database can be written to again');
  });

  it('is 503 once a statement has found the disk full, though a small write still succeeds', async () => {
    const full = `DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$`;
    await expect(service.app.get(Sql).query({ name: 'full', text: full }, [])).rejects.toThrow('no space');
    expect(await ready()).toEqual(DOWN);
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000);
    expect(await ready()).toEqual(UP);
  });
});
