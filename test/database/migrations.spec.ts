import { readdirSync, readFileSync } from 'node:fs';

const SRC = new URL('../../src/', import.meta.url);

/** The core's and those of features; paths under src. */
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.includes('/migrations/'));

/** Of 0.1.0, the first release. */
const FIRST = /\/1700000000\d{3}-/;

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
