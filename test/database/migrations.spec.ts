import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { QueryRunner } from 'typeorm';
import { MIGRATIONS } from '../../src/entities.js';

const SRC = new URL('../../src/', import.meta.url);

/** The core's and those of features; paths under src. */
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.includes('/migrations/'));

/** Of 0.1.0, the first release. */
const FIRST = /\/1795824000\d{3}-/;

/** A comment in the statement: the release that stopped using what goes. */
const UNUSED = /-- unused since \d+\.\d+\.\d+/;

// What instances of the release before cannot work with.
const FORBIDDEN: [RegExp, string][] = [
  [/\bDROP (TABLE|COLUMN)\b/i, 'removes'],
  [/\bRENAME\b/i, 'renames'],
  [/\bALTER (COLUMN )?"?\w+"? (SET DATA )?TYPE\b/i, 'changes a type'],
  [/\bSET NOT NULL\b|\bDROP DEFAULT\b|\bADD (?!.*\bDEFAULT\b).*\bNOT NULL\b/is, 'requires'],
];

/** What a migration does beside adding, in the text of its file; tables that it makes itself may be changed in any way. */
function violationsOf(source: string): string[] {
  const [, up = ''] = /async up\((.*?)(?:async down\(|$)/s.exec(source) ?? [];
  const own = new Set([...up.matchAll(/\bCREATE (?:UNLOGGED )?TABLE (\w+)/gi)].map(([, table]) => table));
  return up
    .split(/;|\.query\(/)
    .filter((statement) => !UNUSED.test(statement) && !own.has(/\bALTER TABLE (\w+)/i.exec(statement)?.[1]))
    .flatMap((statement) => statement.split(/,\s*(?=(?:ADD|ALTER|DROP|RENAME)\b)/i))
    .flatMap((action) => FORBIDDEN.filter(([what]) => what.test(action)).map(([, violation]) => violation));
}

/** Instances of two releases work side by side on one schema (docs/development.md#migrations). */
describe('migrations after the first release', () => {
  it('only add', () => {
    expect(files.some((file) => FIRST.test(file))).toBe(true);
    const later = files.filter((file) => !FIRST.test(file));
    const violations = later.map((file) => [file, violationsOf(readFileSync(new URL(file, SRC), 'utf8'))]);
    expect(violations.filter(([, some]) => some!.length > 0)).toEqual([]);
  });

  const migration = (sql: string): string =>
    `async up(runner) { await runner.query(\`${sql}\`); } async down(runner) { await runner.query('DROP TABLE x'); }`;

  it.each([
    'ALTER TABLE users ADD COLUMN locale text',
    "ALTER TABLE users ADD COLUMN locale text NOT NULL DEFAULT 'en', ADD COLUMN rank int",
    'CREATE TABLE groups (id uuid PRIMARY KEY); ALTER TABLE groups ADD COLUMN name text NOT NULL',
    'ALTER TABLE users DROP COLUMN locale -- unused since 0.2.0',
  ])('may: %s', (sql) => {
    expect(violationsOf(migration(sql))).toEqual([]);
  });

  it.each([
    ['ALTER TABLE users DROP COLUMN username', 'removes'],
    ['ALTER TABLE users RENAME COLUMN username TO name', 'renames'],
    ['ALTER TABLE users ADD COLUMN locale text NOT NULL', 'requires'],
    ['ALTER TABLE users ALTER COLUMN email SET NOT NULL', 'requires'],
    ['ALTER TABLE users ALTER COLUMN user_id TYPE text', 'changes a type'],
  ])('must not: %s', (sql, violation) => {
    expect(violationsOf(migration(sql))).toEqual([violation]);
  });
});

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

/** Statements of a migration, without comments and differences of white space. */
async function statementsOf(migration: (typeof MIGRATIONS)[number]): Promise<string> {
  const statements: string[] = [];
  const runner = { query: async (text: string) => void statements.push(text) } as unknown as QueryRunner;
  await new migration().up(runner);
  return statements.join(';').replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim();
}

/** A database that a released version has made becomes the one of this version (docs/versions.md). */
describe('a migration of a released version', () => {
  // A deleted feature has none.
  it.each(MIGRATIONS.filter(({ name }) => RELEASED[name]).map((one) => [one.name, one] as const))(
    '%s is as it was released',
    async (name, migration) => {
      const found = createHash('sha256')
        .update(await statementsOf(migration))
        .digest('hex');
      const advice = `${name} was released: take the change back, and write another migration`;
      expect([found, advice]).toEqual([RELEASED[name], advice]);
    },
  );
});
