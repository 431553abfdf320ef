import { parseSync } from '@swc/core';
import { files, importsOf, namedImportsOf, roomOf, sourceOf } from '../support/rooms.js';

/** Files with statements that span modules: they combine the `*.sql.ts` of the tables' modules, and a comment says so. */
const SPANNING = [
  'auth/sign-in/batched-sign-ins.ts',
  'auth/sign-in/sign-in.store.ts',
  'auth/sign-in/stepwise-sign-ins.ts',
  'auth/users/users.service.ts',
  'device/device.store.ts',
  'device/sign-out.service.ts',
  'realtime/push/push.store.ts',
];

const MIGRATIONS = 'database/migrations/'; // for the tables of all modules

/** Also a right of service keys and a path, so the word alone is no table. */
const ALSO_A_RIGHT = 'users';

/** All entities: table, class and module. */
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

describe('a table is named in its own module', () => {
  it('has one', () => {
    expect(entities.length).toBeGreaterThanOrEqual(12);
    expect(entities.map(({ room }) => room)).not.toContain(undefined);
  });

  it('and in the SQL of no other module', () => {
    const strangers = files
      .filter((file) => !file.startsWith(MIGRATIONS))
      .flatMap((file) => tablesIn(sourceOf(file)).map((table) => ({ file, table })))
      .filter(({ file, table }) => roomOf(file) !== entities.find((one) => one.table === table)!.room);
    expect(strangers).toEqual([]);
  });

  it('except in migrations; their folder has no other files', () => {
    const migrations = files.filter((file) => file.startsWith(MIGRATIONS));
    expect(migrations.filter((file) => !/\/\d{13}-[\w-]+\.ts$/.test(file))).toEqual([]);
  });

  it('and its entity is imported by no other module, only by the list of entities', () => {
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

  it('and a file with statements that span modules has a comment about that', () => {
    const spanning = files.filter((file) =>
      importsOf(file).some((path) => path.endsWith('.sql.js') && roomOf(path) !== roomOf(file)),
    );
    expect(spanning.toSorted()).toEqual(SPANNING);
    for (const file of spanning) expect(sourceOf(file)).toMatch(/spans[\s*/]+(?:modules|rooms)/);
  });
});
