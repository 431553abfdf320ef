import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

/** The source files of the service without their specs, as paths under src. */
export const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.[cm]?ts$/.test(file) && !file.endsWith('.spec.ts'))
  .map((file) => file.replaceAll('\\', '/'));

export function sourceOf(file: string): string {
  return readFileSync(join(SRC, file), 'utf8');
}

/** What a file imports of the service, types as well; as paths under src, which end in `.js`. */
export function importsOf(file: string): string[] {
  return namedImportsOf(file).map(({ path }) => path);
}

/** Imports with the imported names; no names for `import *` and for side effects. */
export function namedImportsOf(file: string): { readonly path: string; readonly names: string }[] {
  const found = sourceOf(file).matchAll(/(?:(\{[^{}]*\})\s*from|from|import)\s*\(?['"`](\.[^'"`]+)['"`]/g);
  return [...found].map(([, names = '', path]) => ({
    path: relative(SRC, resolve(SRC, dirname(file), path!)).replaceAll('\\', '/'),
    names,
  }));
}

/** Which packages of this repository a file imports (`#embedded-postgres`). */
export function packagesOf(file: string): string[] {
  return [...sourceOf(file).matchAll(/(?:from|import)\s*\(?['"`](#[^'"`]+)['"`]/g)].map(([, name]) => name!);
}

/** The folder under src; events.ts and spans.ts are rooms of one file. Undefined for what puts the rooms together. */
export function roomOf(path: string): string | undefined {
  if (path.includes('/')) return path.split('/')[0];
  return /^(events|spans)\.[jt]s$/.exec(path)?.[1];
}

/** Decorators for every controller; no other file of their room may be imported with them. */
export const DECORATORS = 'token/guard/access.js';

/** Open to every room. */
export const GROUND = ['config', 'errors', 'events', 'spans', 'database', 'http', 'channel', DECORATORS];
