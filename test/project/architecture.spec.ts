import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';
import { BACKGROUND_WORK } from '../../src/platform/background.js';
import { FEATURES } from '../../src/features.js';
import { MODULES } from './modules.js';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

/** The source files of the service without their specs, as paths under src. */
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.[cm]?ts$/.test(file) && !file.endsWith('.spec.ts'))
  .map((file) => file.replaceAll('\\', '/'));

function sourceOf(file: string): string {
  return readFileSync(join(SRC, file), 'utf8');
}

/** What a file imports of the service, types as well; as paths under src, which end in `.js`. */
function importsOf(file: string): string[] {
  return namedImportsOf(file).map(({ path }) => path);
}

/** Imports with the imported names; no names for `import *` and for side effects. */
function namedImportsOf(file: string): { readonly path: string; readonly names: string }[] {
  const found = sourceOf(file).matchAll(/(?:(\{[^{}]*\})\s*from|from|import)\s*\(?['"`](\.[^'"`]+)['"`]/g);
  return [...found].map(([, names = '', path]) => ({
    path: relative(SRC, resolve(SRC, dirname(file), path!)).replaceAll('\\', '/'),
    names,
  }));
}

/** Which packages of this repository a file imports (`#embedded-postgres`). */
function packagesOf(file: string): string[] {
  return [...sourceOf(file).matchAll(/(?:from|import)\s*\(?['"`](#[^'"`]+)['"`]/g)].map(([, name]) => name!);
}

/** Folders whose modules are the folders and files in them. */
const FLOORS = /^(?:platform|features|commands)\//;

/** Undefined for what puts the modules together: files of src itself, and start/. */
function moduleOf(path: string): string | undefined {
  if (path.startsWith('start/') || !path.includes('/')) return undefined;
  const parts = path.split('/');
  return FLOORS.test(path) ? `${parts[0]}/${parts[1]!.replace(/\.[jt]s$/, '')}` : parts[0];
}

describe('who may import whom', () => {
  const inModules = files.filter((file) => moduleOf(file));

  it('finds imports', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(importsOf('auth/auth.service.ts')).toContain('provider/redirect-uris.js');
  });

  it('every module of the table exists', () => {
    expect(new Set(inModules.map(moduleOf))).toEqual(new Set(Object.keys(MODULES)));
  });

  it('imports only what the table allows', () => {
    const violations = inModules.flatMap((file) => {
      const allowed = MODULES[moduleOf(file)!]?.imports;
      if (!allowed) return [`${file}: its module is not in test/project/modules.ts`];
      const others = importsOf(file).filter((path) => moduleOf(path) !== moduleOf(file));
      return others
        .filter((path) => !allowed.includes(path) && !allowed.includes(moduleOf(path)!))
        .map((path) => `${file}: ${path}`);
    });
    expect(violations).toEqual([]);
  });

  it('a feature is imported by features.ts alone, so that it can be deleted', () => {
    const importers = files.filter((file) =>
      importsOf(file).some((path) => path.startsWith('features/') && moduleOf(path) !== moduleOf(file)),
    );
    expect(importers).toEqual(['features.ts']);
  });

  it('packages are imported where they are started', () => {
    const importers = files.flatMap((file) => packagesOf(file).map((name) => `${file} ${name}`));
    expect(importers.toSorted()).toEqual([
      'commands/check/check-provider.ts #check-provider',
      'commands/keys/run.ts #embedded-postgres',
      'commands/move/databases.ts #embedded-postgres',
      'features/provider-events/command/set-up.ts #embedded-postgres',
      'main.ts #check-provider',
      'start/application.ts #embedded-postgres',
      'start/start.ts #embedded-postgres',
    ]);
  });

  it('repeated work is declared, except of one connection and of a server that closes', () => {
    const repeating = files.filter((file) => /\bsetInterval\(/.test(sourceOf(file)));
    expect(repeating.toSorted()).toEqual([
      'platform/background.ts',
      'platform/http/server/express.adapter.ts',
      'realtime/fanout/postgres-listener.ts',
    ]);
    const repeated = files.flatMap((file) => [...sourceOf(file).matchAll(/\.repeat\('([^']+)'/g)]);
    const ofFeatures = FEATURES.flatMap(({ work = {} }) => Object.keys(work));
    const declared = [...Object.keys(BACKGROUND_WORK), ...ofFeatures];
    expect(repeated.map(([, name]) => name!).toSorted()).toEqual(declared.toSorted());
  });

  it('Citus is named in its own module, in the commands and where they are put together', () => {
    const namers = files.filter((file) => /citus/i.test(sourceOf(file)) && moduleOf(file) !== REPLACING);
    expect(namers.toSorted()).toEqual(['commands/distribute/distribute.ts', 'entities.ts', 'main.ts']);
  });

  it('only src/platform/config reads the environment', () => {
    const readers = files.filter((file) => /process\.env|['"]node:process['"]/.test(sourceOf(file)));
    expect(readers.every((file) => moduleOf(file) === 'platform/config')).toBe(true);
  });
});

/** The files whose statements may name tables of any module; all others name only those of their own. */
const SPANNING = [
  'auth/sign-in/sign-in.sql.ts',
  'channel/channel-state.sql.ts',
  'device/sign-out.sql.ts',
  'features/scim/effect/directory-state.sql.ts',
  'realtime/push/push.sql.ts',
  'token/access-tokens/introspect.sql.ts',
  'token/refresh/refresh.sql.ts',
];

/** Replaces stores of all modules, whose tables, entities and statements it uses. */
const REPLACING = 'citus';

/** For the tables of the core's modules; the migrations of a feature name only its own. */
const MIGRATIONS = 'platform/database/migrations/';

/** Also a right of service keys and a path, a type of resources (RFC 7643 §4.1), a label, and members of an answer, so the word alone is no table. */
const OTHER_MEANINGS = ['users', 'User', 'Device', 'devices', 'audit_events'];

/** All entities: table, class and module. */
const entities = files.flatMap((file) =>
  [...sourceOf(file).matchAll(/@Entity\('(\w+)'.*?\bclass (\w+)/gs)].map(([, table, name]) => ({
    table: table!,
    name: name!,
    module: moduleOf(file),
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
        (!OTHER_MEANINGS.includes(text) && [table, name].includes(text)) ||
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
    expect(entities.map(({ module }) => module)).not.toContain(undefined);
  });

  it('and in the SQL of no other module, except in few files', () => {
    const strangers = files
      .filter(
        (file) => !file.startsWith(MIGRATIONS) && !SPANNING.includes(file) && moduleOf(file) !== REPLACING,
      )
      .flatMap((file) => tablesIn(sourceOf(file)).map((table) => ({ file, table })))
      .filter(({ file, table }) => moduleOf(file) !== entities.find((one) => one.table === table)!.module);
    expect(strangers).toEqual([]);
  });

  it('except in migrations of the core; folders of migrations have no other files', () => {
    const migrations = files.filter((file) => file.includes('/migrations/'));
    expect(migrations.filter((file) => !/\/\d{13}-[\w-]+\.ts$/.test(file))).toEqual([]);
  });

  it('and its entity is imported by no other module, only by the list of entities', () => {
    const names = entities.map(({ name }) => name);
    const isEntity = (path: string, imported: string): boolean =>
      path.endsWith('.entity.js') || names.some((name) => new RegExp(`\\b${name}\\b`).test(imported));
    const strangers = files.filter(
      (file) =>
        file !== 'entities.ts' &&
        moduleOf(file) !== REPLACING &&
        namedImportsOf(file).some(
          ({ path, names: all }) => isEntity(path, all) && moduleOf(path) !== moduleOf(file),
        ),
    );
    expect(strangers).toEqual([]);
  });

  it('and its SQL is imported by no other module', () => {
    const strangers = files.filter(
      (file) =>
        moduleOf(file) !== REPLACING &&
        importsOf(file).some((path) => path.endsWith('.sql.js') && moduleOf(path) !== moduleOf(file)),
    );
    expect(strangers).toEqual([]);
  });
});
