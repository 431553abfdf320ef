import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { NEEDED_NO_MORE } from '../../src/token/sessions/session.sql.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';

/** How long a session is kept after its end (contract §4, §8), on a database without a service; removal.spec.ts removes them. */
describe('a session', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeEach(async () => {
    database = await createDatabase();
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 2))).initialize();
    await dataSource.query(
      `INSERT INTO signing_keys (kid, public_jwk, encrypted_private_key, active_at, token_ttl) VALUES ('k', '{}', '\\x00', now(), 3600)`,
    );
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it.each<
    [string, expired: string, signedOut: string | null, token: 'none' | 'its own' | 'another', mayGo: boolean]
  >([
    ['that expires', '1 second', null, 'none', false], // a refresh may be under way
    ['that has expired', '6 seconds', null, 'none', true],
    ['that has expired, while its last access token lives', '1 day', null, 'its own', false],
    ['that has expired, while a token of another one lives', '1 day', null, 'another', true],
    ['that was signed out, while others may hold its token', '61 minutes', '60 minutes', 'none', false],
    ['that was signed out longer ago than a token can live', '62 minutes', '62 minutes', 'none', true],
    ['that had expired before it was signed out', '2 days', '60 minutes', 'none', false],
    ['that was signed out, while a token is stored', '62 minutes', '62 minutes', 'its own', false],
  ])('%s', async (_name, expired, signedOut, token, mayGo) => {
    await dataSource.query(
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, signed_out_at)
       VALUES (gen_random_uuid(), gen_random_uuid(), '\\x00', now() - $1::interval, now() - $2::interval)`,
      [expired, signedOut],
    );
    if (token !== 'none') {
      await dataSource.query(
        `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
         SELECT user_id, gen_random_uuid(), CASE WHEN $1 THEN session_id ELSE gen_random_uuid() END, now(), 't' FROM refresh_tokens`,
        [token === 'its own'],
      );
    }
    const found = await dataSource.query<unknown[]>(`SELECT FROM refresh_tokens WHERE ${NEEDED_NO_MORE}`);
    expect(found.length === 1).toBe(mayGo);
  });
});
