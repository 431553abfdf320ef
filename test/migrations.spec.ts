import { readdirSync, readFileSync } from 'node:fs';
import { faultsOfMigration } from './support/migration-rules.js';

const directory = new URL('../src/database/migrations/', import.meta.url);
const files = readdirSync(directory);
const sourceOf = (file: string): string => readFileSync(new URL(file, directory), 'utf8');

/** The schema of the first release: nothing older runs beside it. */
const FIRST_RELEASE = '1700000000000-init.ts';

const migration = (sql: string, more = ''): string =>
  `export class Next1900000000000 {${more}
     async up(runner) { await runner.query(\`${sql}\`); }
     async down(runner) { await runner.query('ALTER TABLE users DROP COLUMN locale'); } }`;
const ALONE = 'transaction = false;';

/** Old and new instances run side by side on one schema (CONTRIBUTING, "Migrations"). */
describe('migrations', () => {
  it('only add after the first, so that instances of the release before go on', () => {
    expect(files).toContain(FIRST_RELEASE);
    const newer = files.filter((file) => file !== FIRST_RELEASE);
    const faults = newer.flatMap((file) =>
      faultsOfMigration(sourceOf(file)).map((fault) => `${file} ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it.each([
    'ALTER TABLE users ADD COLUMN locale text',
    "ALTER TABLE users ADD COLUMN locale text NOT NULL DEFAULT 'en', ADD COLUMN rank int",
    'CREATE TABLE groups (id uuid PRIMARY KEY, name text NOT NULL); CREATE INDEX groups_name ON groups (name)',
    'CREATE TABLE groups (id uuid); ALTER TABLE groups ADD COLUMN name text NOT NULL',
    'CREATE INDEX signing_keys_x ON signing_keys (x) -- small table',
    'ALTER TABLE users DROP COLUMN locale -- unused since 0.2.0',
  ])('may: %s', (sql) => {
    expect(faultsOfMigration(migration(sql))).toEqual([]);
  });

  it.each([
    ['ALTER TABLE users DROP COLUMN username', 'removes'],
    ['ALTER TABLE users DROP COLUMN username -- nobody needs it', 'removes'],
    ['DROP TABLE devices', 'removes'],
    ['ALTER TABLE users RENAME COLUMN username TO name', 'renames'],
    ['ALTER TABLE users RENAME TO people', 'renames'],
    ['ALTER TABLE users ADD COLUMN locale text NOT NULL', 'requires'],
    ["ALTER TABLE users ADD COLUMN a text DEFAULT '', ADD COLUMN b text NOT NULL", 'requires'],
    ['ALTER TABLE users ALTER COLUMN email SET NOT NULL', 'requires'],
    ['ALTER TABLE users ALTER COLUMN created_at DROP DEFAULT', 'requires'],
    ['ALTER TABLE users ALTER COLUMN user_id TYPE text', 'changes a type'],
    ['ALTER TABLE users ALTER user_id SET DATA TYPE text', 'changes a type'],
    ['CREATE INDEX users_email ON users (email)', 'builds an index'],
    ['CREATE UNIQUE INDEX CONCURRENTLY users_email ON users (email)', 'needs `transaction = false`'],
  ])('must not: %s', (sql, fault) => {
    expect(faultsOfMigration(migration(sql))).toEqual([expect.stringContaining(fault)]);
  });

  it('without a transaction are for indexes only, and can be tried again', () => {
    const create = 'CREATE INDEX CONCURRENTLY users_email ON users (email)';
    const again = `DROP INDEX CONCURRENTLY IF EXISTS users_email\`); await runner.query(\`${create}`;
    expect(faultsOfMigration(migration(again, ALONE))).toEqual([]);
    expect(faultsOfMigration(migration(create, ALONE))).toEqual([expect.stringContaining('tried again')]);
    const alter = migration('ALTER TABLE users ADD COLUMN locale text', ALONE);
    expect(faultsOfMigration(alter)).toEqual([expect.stringContaining('no limit to its waiting')]);
  });
});
