import { parseSync } from '@swc/core';
import { files, importsOf, namedImportsOf, roomOf, sourceOf } from '../support/rooms.js';

/** Files whose statements span rooms: each says so, and puts together what the tables' rooms offer in their `*.sql.ts`. */
const SPANNING = [
  'auth/sign-in/batched-sign-ins.ts',
  'auth/sign-in/sign-in.store.ts',
  'auth/sign-in/stepwise-sign-ins.ts',
  'auth/users/users.service.ts',
  'device/device.store.ts',
  'device/sign-out.service.ts',
  'realtime/push/push.store.ts',
];

const MIGRATIONS = 'database/migrations/'; // they make the tables of all rooms

/** The right of service keys, and the path, that a table has its name from; alone it says nothing. */
const ALSO_A_RIGHT = 'users';

/** Every entity: its table, its class and its room. */
const entities = files.flatMap((file) =>
  [...sourceOf(file).matchAll(/@Entity\('(\w+)'.*?\bclass (\w+)/gs)].map(([, table, name]) => ({
    table: table!,
    name: name!,
    room: roomOf(file),
  })),
);

interface SyntaxNode {
  readonly type?: string;
  readonly value?: string;
  readonly quasis?: readonly { readonly cooked: string }[];
}

/** The texts in a source: strings, and templates without their expressions; no comments. */
function textsIn(node: SyntaxNode): string[] {
  if (node.type === 'StringLiteral') return [node.value!];
  const own = node.type === 'TemplateLiteral' ? [node.quasis!.map(({ cooked }) => cooked).join(' … ')] : [];
  const children = Object.values(node).filter((child) => typeof child === 'object' && child !== null);
  return [...own, ...children.flatMap((child) => textsIn(child as SyntaxNode))];
}

const SQL =
  /\b(SELECT|INSERT|UPDATE|DELETE|TRUNCATE|LOCK|TABLE|FROM|INTO|JOIN|USING|WHERE|AND|NOT|EXISTS|WITH)\b/;

/**
 * The tables that a source names: in a text with words of SQL (in lower case: after such a word), as `table.column` (not in
 * a path), or as the whole text, by the table's name or its class's.
 */
function tablesIn(source: string): string[] {
  const texts = textsIn(parseSync(source, { syntax: 'typescript', decorators: true }));
  const named = entities.filter(({ table, name }) => {
    const word = new RegExp(`\\b${table}\\b`);
    const column = new RegExp(`(?<![\\w./-])${table}\\.\\w`);
    const lowerCase = new RegExp(
      `\\b(?:from|into|update|join|using|truncate|table)\\s+(?:only\\s+)?"?${table}\\b`,
      'i',
    );
    return texts.some(
      (text) =>
        (text !== ALSO_A_RIGHT && [table, name].includes(text)) ||
        column.test(text) ||
        lowerCase.test(text) ||
        (SQL.test(text) && word.test(text)),
    );
  });
  return named.map(({ table }) => table);
}

describe('which tables a source names', () => {
  it.each([
    ['a statement', 'const READ = `SELECT 1 FROM users WHERE user_id = $1`;', ['users']],
    ['a part of one', `const CONDITION = 'devices.user_id = $1';`, ['devices']],
    ['a list', 'const BOTH = `SELECT FROM counter, devices`;', ['devices']],
    ['what is filled in', 'const READ = `SELECT ${one(`FROM users`)}, ${two}`;', ['users']],
    ['a name alone', `const rows = manager.getRepository('refresh_tokens');`, ['refresh_tokens']],
    ['a class by its name', `const rows = manager.getRepository('RefreshToken');`, ['refresh_tokens']],
    ['lower case', 'const READ = `select 1 from users`;', ['users']],
    ['a comment', '// SELECT FROM users\n/** of `devices`: devices.user_id */', []],
    ['prose', `throw new Error('devices and users, not here');`, []],
    ['a path', `import '../channel/presence.store.js'; get('/users.json');`, []],
    ['code', 'devices.map(({ users }) => users.FROM);', []],
  ])('%s', (_what, source, tables) => {
    expect(tablesIn(source)).toEqual(tables);
  });
});

describe('a table is named in its own room', () => {
  it('has one', () => {
    expect(entities.length).toBeGreaterThanOrEqual(12);
    expect(entities.map(({ room }) => room)).not.toContain(undefined);
  });

  it('and in the SQL of no other', () => {
    const strangers = files
      .filter((file) => !file.startsWith(MIGRATIONS))
      .flatMap((file) => tablesIn(sourceOf(file)).map((table) => ({ file, table })))
      .filter(({ file, table }) => roomOf(file) !== entities.find((one) => one.table === table)!.room);
    expect(strangers).toEqual([]);
  });

  it('but in migrations, which are nothing else', () => {
    const migrations = files.filter((file) => file.startsWith(MIGRATIONS));
    expect(migrations.filter((file) => !/\/\d{13}-[\w-]+\.ts$/.test(file))).toEqual([]);
  });

  it('and its entity is imported by no other room, only by the list of entities', () => {
    const names = entities.map(({ name }) => name);
    const isEntity = (path: string, imported: string): boolean =>
      path.endsWith('.entity.js') || names.some((name) => new RegExp(`\\b${name}\\b`).test(imported));
    const strangers = files.filter(
      (file) =>
        file !== 'entities.ts' &&
        namedImportsOf(file).some(
          ({ path, names: all }) => isEntity(path, all) && roomOf(path) !== roomOf(file),
        ),
    );
    expect(strangers).toEqual([]);
  });

  it('and a file whose statements span rooms says so', () => {
    const spanning = files.filter((file) =>
      importsOf(file).some((path) => path.endsWith('.sql.js') && roomOf(path) !== roomOf(file)),
    );
    expect(spanning.toSorted()).toEqual(SPANNING);
    for (const file of spanning) expect(sourceOf(file)).toMatch(/spans[\s*/]+rooms/);
  });
});
