import { createHash } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../src/entities.js';

/** By migration of a released version: hash of its statements. */
const RELEASED: Readonly<Record<string, string>> = {
  // 0.1.0
  Core1795824000000: '187c24cbd3f5be40ce2bc896c78be37a7aed756b6a7a3fce1cd6c6402563588d',
  DeviceGrant1795824000002: '7ea42e655f922dea7f4af1037d6aa89cfdacfb1581f402e2bab3696ab7a30e89',
  ProviderEvents1795824000003: 'e5c0e935c263feaa947148935c7d0e7ac0c71b1f7815dfbc6eca2b970ae13f19',
  Recheck1795824000004: '373af1f7294191649aa1264c5dc0c7e38d1a275ebb8239bb165fac787ca979ec',
  SampleProvider1795824000005: 'eaa762fbe0a2856fef6dd23e7595de785120ede26f53c04be087790c2dc1d93c',
  Scim1795824000006: '854662b222718d4e0101c4540fdf5a08c42e972adaa11f7c38004df37d931d7b',
};

/** A comment in the statement: the release that stopped using what goes. */
const UNUSED = /-- unused since \d+\.\d+\.\d+/;
/** A comment in the statement: the table never has many rows, and nothing waits for it. */
const SMALL = /-- small table/;

// What instances of the release before cannot work with.
const FORBIDDEN: [RegExp, string][] = [
  [/\bDROP (TABLE|COLUMN)\b/i, 'removes'],
  [/\bRENAME\b/i, 'renames'],
  [/\bALTER (COLUMN )?"?\w+"? (SET DATA )?TYPE\b/i, 'changes a type'],
  [/\bSET NOT NULL\b|\bDROP DEFAULT\b|\bADD (?!.*\bDEFAULT\b).*\bNOT NULL\b/is, 'requires'],
  [/\bCREATE (UNIQUE )?INDEX (?!CONCURRENTLY)/i, 'blocks'],
];

/** What a migration does beside adding; tables that it makes itself may be changed in any way. */
function violationsOf(statements: readonly string[]): string[] {
  const all = statements.flatMap((text) => text.split(/;\n?/));
  const made = all.map((text) => /\bCREATE (?:UNLOGGED )?TABLE (\w+)/i.exec(text)?.[1]);
  const changes = all.flatMap((text) => {
    const table = /\b(?:ALTER TABLE|INDEX (?:CONCURRENTLY )?\w+ ON) (\w+)/i.exec(text)?.[1];
    return table !== undefined && !made.includes(table) && !SMALL.test(text) ? { table, text } : [];
  });
  const violations = changes
    .filter(({ text }) => !UNUSED.test(text))
    .flatMap(({ text }) => text.split(/,\s*(?=(?:ADD|ALTER|DROP|RENAME)\b)/i))
    .flatMap((action) => FORBIDDEN.filter(([what]) => what.test(action)).map(([, violation]) => violation));
  return new Set(changes.map(({ table }) => table)).size > 1 ? [...violations, 'locks'] : violations;
}

/** Statements of a migration. */
async function statementsOf(migration: (typeof MIGRATIONS)[number]): Promise<string[]> {
  const statements: string[] = [];
  const runner = { query: async (text: string) => void statements.push(text) } as unknown as QueryRunner;
  await new migration().up(runner);
  return statements;
}

/** Instances of two releases work side by side on one schema (docs/development.md#migrations). */
describe('migrations after the first release', () => {
  it('only add, and keep nobody waiting', async () => {
    for (const migration of MIGRATIONS.filter(({ name }) => !RELEASED[name])) {
      const statements = await statementsOf(migration);
      expect([migration.name, violationsOf(statements)]).toEqual([migration.name, []]);
      const isConcurrent = statements.some((text) => text.includes(' CONCURRENTLY '));
      const { transaction = true } = new migration() as { transaction?: boolean };
      expect([migration.name, transaction]).toEqual([migration.name, !isConcurrent]);
    }
  });

  it.each([
    'ALTER TABLE users ADD COLUMN locale text',
    "ALTER TABLE users ADD COLUMN locale text NOT NULL DEFAULT 'en', ADD COLUMN rank int",
    'CREATE TABLE groups (id uuid PRIMARY KEY); ALTER TABLE groups ADD COLUMN name text NOT NULL',
    'ALTER TABLE users DROP COLUMN locale -- unused since 0.2.0',
    'CREATE TABLE groups (id uuid PRIMARY KEY, name text); CREATE INDEX groups_name ON groups (name)',
    'CREATE INDEX CONCURRENTLY users_locale ON users (locale)',
    'CREATE INDEX keys_use ON keys (use) -- small table',
  ])('may: %s', (sql) => {
    expect(violationsOf([sql])).toEqual([]);
  });

  it.each([
    ['ALTER TABLE users DROP COLUMN username', 'removes'],
    ['ALTER TABLE users RENAME COLUMN username TO name', 'renames'],
    ['ALTER TABLE users ADD COLUMN locale text NOT NULL', 'requires'],
    ['ALTER TABLE users ALTER COLUMN email SET NOT NULL', 'requires'],
    ['ALTER TABLE users ALTER COLUMN user_id TYPE text', 'changes a type'],
    ['CREATE INDEX users_locale ON users (locale)', 'blocks'],
    ['CREATE UNIQUE INDEX users_locale ON users (locale)', 'blocks'],
    ['ALTER TABLE users ADD COLUMN a text; ALTER TABLE devices ADD COLUMN a text', 'locks'],
  ])('must not: %s', (sql, violation) => {
    expect(violationsOf([sql])).toEqual([violation]);
  });
});

/** A database that a released version has made becomes the one of this version (docs/versions.md). */
describe('a migration of a released version', () => {
  // A deleted feature has none.
  it.each(MIGRATIONS.filter(({ name }) => RELEASED[name]).map((one) => [one.name, one] as const))(
    '%s is as it was released',
    async (name, migration) => {
      const statements = (await statementsOf(migration)).join(';');
      const bare = statements.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim();
      const found = createHash('sha256').update(bare).digest('hex');
      const advice = `${name} was released: take the change back, and write another migration`;
      expect([found, advice]).toEqual([RELEASED[name], advice]);
    },
  );
});
