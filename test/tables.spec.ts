import { parseSync } from '@swc/core';
import { files, importsOf, roomOf, sourceOf } from './support/rooms.js';

/** Files whose statements span rooms: each says so, and puts together what the tables' rooms offer in their `*.sql.ts`. */
const SPANNING = ['auth/sign-in.store.ts', 'device/sign-out.service.ts', 'realtime/push.store.ts'];

const MIGRATIONS = 'database/migrations/'; // they make the tables of all rooms

/** The room of each table: where the entity of that name stands. */
const owners = new Map(
  files.flatMap((file) =>
    [...sourceOf(file).matchAll(/@Entity\('(\w+)'/g)].map(([, table]) => [table!, roomOf(file)] as const),
  ),
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

/** The tables that a source names: in a text with words of SQL, as `table.column` (no path), or as the whole text. */
function tablesIn(source: string): string[] {
  const texts = textsIn(parseSync(source, { syntax: 'typescript', decorators: true }));
  return [...owners.keys()].filter((table) => {
    const word = new RegExp(`\\b${table}\\b`);
    const column = new RegExp(`(?<![\\w./-])${table}\\.\\w`);
    return texts.some((text) => text === table || column.test(text) || (SQL.test(text) && word.test(text)));
  });
}

describe('which tables a source names', () => {
  it.each([
    ['a statement', 'const READ = `SELECT 1 FROM users WHERE user_id = $1`;', ['users']],
    ['a part of one', `const CONDITION = 'devices.user_id = $1';`, ['devices']],
    ['a list', 'const BOTH = `SELECT FROM counter, devices`;', ['devices']],
    ['what is filled in', 'const READ = `SELECT ${one(`FROM users`)}, ${two}`;', ['users']],
    ['a name alone', `const rows = manager.getRepository('refresh_tokens');`, ['refresh_tokens']],
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
    expect(owners.size).toBeGreaterThanOrEqual(12);
    expect([...owners.values()]).not.toContain(undefined);
  });

  it('and in the SQL of no other', () => {
    const strangers = files
      .filter((file) => !file.startsWith(MIGRATIONS))
      .flatMap((file) => tablesIn(sourceOf(file)).map((table) => ({ file, table })))
      .filter(({ file, table }) => roomOf(file) !== owners.get(table));
    expect(strangers).toEqual([]);
  });

  it('and its entity is imported by no other room, only by the list of entities', () => {
    const strangers = files.filter(
      (file) =>
        file !== 'entities.ts' &&
        importsOf(file).some((path) => path.endsWith('.entity.js') && roomOf(path) !== roomOf(file)),
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
