import { createDatabase, type TestDatabase } from '../support/database.js';
import { query } from '../support/query.js';
import { leak, shortenKeys } from './triggers.js';

describe('what a soak changes in its database', () => {
  let database: TestDatabase;
  beforeAll(async () => void (database = await createDatabase()));
  afterAll(() => database?.drop());

  const expiring = (table: string): Promise<{ kept: string; forever: string }[]> =>
    query(
      database.url,
      `SELECT count(*) FILTER (WHERE expires_at < now() + interval '121 s') AS kept,
         count(*) FILTER (WHERE expires_at = 'infinity') AS forever FROM ${table}`,
    );

  it('is how long idempotency keys live', async () => {
    await shortenKeys(database.url);
    await query(
      database.url,
      `INSERT INTO idempotency_keys (key_hash, body_hash, expires_at) VALUES ('k', 'b', now() + interval '1 day')`,
    );
    expect(await expiring('idempotency_keys')).toEqual([{ kept: '1', forever: '0' }]);
  });

  it('is, where a leak is planted, that of twenty rows that are removed one comes back and stays', async () => {
    await leak(database.url, 'sample_codes', 20);
    await query(
      database.url,
      `INSERT INTO sample_codes (code_hash, client_id, redirect_uri, provider_user_id, expires_at)
       SELECT i::text::bytea, 'c', 'r', 'p', now() FROM generate_series(1, 60) AS i`,
    );
    await query(database.url, 'DELETE FROM sample_codes WHERE expires_at <= now()');
    expect(await expiring('sample_codes')).toEqual([{ kept: '0', forever: '3' }]);
  });

  it('is both of idempotency keys', async () => {
    const other = await createDatabase();
    try {
      await shortenKeys(other.url);
      await leak(other.url, 'idempotency_keys', 20);
      await query(
        other.url,
        `INSERT INTO idempotency_keys (key_hash, body_hash, expires_at)
         SELECT i::text::bytea, 'b', now() FROM generate_series(1, 40) AS i`,
      );
      await query(other.url, 'DELETE FROM idempotency_keys');
      expect(
        await query(other.url, `SELECT count(*) FROM idempotency_keys WHERE expires_at = 'infinity'`),
      ).toEqual([{ count: '2' }]);
    } finally {
      await other.drop();
    }
  });
});
