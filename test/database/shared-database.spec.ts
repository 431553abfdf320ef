import { randomBytes } from 'node:crypto';
import request from 'supertest';
import { createEmptyDatabase, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { useEach } from '../support/use.js';

describe('a database with tables of another application', () => {
  let service: TestService | undefined;
  afterEach(async () => {
    await service?.close();
    service = undefined;
  });
  const database = useEach(() => createEmptyDatabase());

  const start = (url = database.url): Promise<TestService> => startTestService({ DATABASE_URL: url });
  const withPath = (path: string): string =>
    `${database.url}?options=${encodeURIComponent(`-csearch_path=${path}`)}`;
  const tables = async (): Promise<string[]> => {
    const rows = await query<{ name: string }>(
      database.url,
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };

  it.each([
    ['users', 'CREATE TABLE users (id int)', 'relation "users" already exists'],
    ['migrations', 'CREATE TABLE migrations (id int, migration text)', 'column "name" does not exist'], // Laravel
  ])('refuses to start beside a table %s, and leaves it', async (name, create, reason) => {
    await query(database.url, create);
    await expect(start()).rejects.toThrow(new RegExp(`${reason}; .* a schema of its own`));
    expect(await query(database.url, `SELECT id FROM ${name}`)).toEqual([]);
    expect(await tables()).not.toContain('public.devices');
  });

  it('refuses a search_path without a schema', async () => {
    await expect(start(withPath('latchkay'))).rejects.toThrow(
      /no schema .*; create the first schema of its search_path/,
    );
  });

  it('is served in a schema of its own', async () => {
    await query(
      database.url,
      'CREATE TABLE users (id int); CREATE TABLE migrations (id int, batch int); CREATE SCHEMA latchkey',
    );
    for (let i = 0; i < 2; i++) {
      service = await start(withPath('latchkey,public'));
      await request(service.url).get('/health/ready').expect(200);
      await service.close();
      service = undefined;
    }
    const all = await tables();
    expect(all.filter((name) => name.startsWith('public.'))).toEqual(['public.migrations', 'public.users']);
    expect(all).toContain('latchkey.signing_keys');
  });

  it('says which right the role lacks, at the first start and later', async () => {
    const [role, other] = [randomBytes(4), randomBytes(4)].map((bytes) => `role_${bytes.toString('hex')}`);
    const url = new URL(database.url);
    [url.username, url.password] = [role!, 'secret-of-the-role'];
    await query(
      database.url,
      `CREATE ROLE ${other}; CREATE ROLE ${role} LOGIN PASSWORD '${url.password}' IN ROLE ${other}`,
    );
    try {
      await query(
        database.url,
        `ALTER SCHEMA public OWNER TO ${role}; ALTER ROLE ${role} SET role = ${other}`,
      );
      await expect(start(url.href)).rejects.toThrow(
        /^the database cannot be used: permission denied for schema public; .*RESET role/,
      );
      await query(database.url, `ALTER ROLE ${role} RESET role`);
      service = await start(url.href);
      await service.close();
      service = undefined;
      await query(database.url, `ALTER ROLE ${role} SET role = ${other}`);
      await expect(start(url.href)).rejects.toThrow(
        /^the database cannot be used: permission denied for table migrations; .*RESET role/,
      );
    } finally {
      await query(database.url, `DROP OWNED BY ${role}, ${other}; DROP ROLE ${role}, ${other}`);
    }
  });
});

it('refuses a database with another encoding than UTF8', async () => {
  const database = await createEmptyDatabase();
  const name = `test_${randomBytes(8).toString('hex')}`;
  try {
    await query(database.url, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`);
    const url = database.url.replace(/[^/]*$/, name);
    await expect(startTestService({ DATABASE_URL: url })).rejects.toThrow(
      /its encoding is LATIN1; create one with ENCODING 'UTF8'/,
    );
    expect(await query(url, `SELECT FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
  } finally {
    await query(database.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await database.close();
  }
});
