import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headingsOf } from '../../docs/.vitepress/markdown.js';
import { ROOT } from '../../docs/.vitepress/places.js';

const FOLDERS = ['admin', 'demo', 'examples', 'lab', 'openapi', 'packages', 'src', 'test'];
const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
).filter(
  (file) =>
    /\.(?:[cm]?[jt]sx?|vue|css|html|sh|ya?ml|sql)$/.test(file) &&
    !/(?:^|\/)(?:node_modules|dist(?:-\w+)?|together)\//.test(file),
);

/** The text of a file; a cite over two lines of a comment is in one line here. */
const textOf = (file: string): string =>
  readFileSync(join(ROOT, file), 'utf8').replaceAll(/\n\s*(?:\*(?!\/)|\/\/)?\s*/g, ' ');

const clauses = new Set(
  [...readFileSync(join(ROOT, 'docs/specification.md'), 'utf8').matchAll(/^#+ ([\d.]+) /gm)].map(
    ([, number]) => number!,
  ),
);

/** Clauses after `spec`, also several: `spec §4.5.2, §7.3`, `spec §4.2 to §4.4`. */
const SPEC = /\bspec(?:ification)? (§\d+(?:\.\d+)*(?:(?:,| and| to|;) §\d+(?:\.\d+)*)*)/gi;
const PAGE = /\b(?:docs\/(?:[\w-]+\/)*[\w-]+|SECURITY|CONTRIBUTING)\.md(?:#[\p{L}\p{N}_-]+)?/gu;
const headings = new Map<string, Set<string>>();

function isResolved(cite: string): boolean {
  if (cite.startsWith('§')) return clauses.has(cite.slice(1));
  const [page, heading] = cite.split('#') as [string, string?];
  if (!existsSync(join(ROOT, page))) return false;
  if (!headings.has(page)) headings.set(page, headingsOf(page));
  return heading === undefined || headings.get(page)!.has(heading);
}

/** Cites of a text: clauses of the specification, and pages of the documents with their heading. */
const citesOf = (text: string): string[] => [
  ...[...text.matchAll(SPEC)].flatMap(([, list]) => list!.match(/§[\d.]*\d/g)!),
  ...[...text.matchAll(PAGE)].map(([page]) => page),
];

const UNRESOLVED = ['spec §4.9', 'spec §4.3, §10', 'docs/none.md', 'docs/realtime.md#none'];

it('every cite leads to a clause of docs/specification.md, or to a page and its heading', () => {
  const cites = files.flatMap((file) =>
    citesOf(file.endsWith('cites.spec.ts') ? '' : textOf(file)).map((cite) => ({ file, cite })),
  );
  expect(cites.filter(({ cite }) => !isResolved(cite))).toEqual([]);
  expect(cites.length).toBeGreaterThan(200);
});

it.each(UNRESOLVED)('finds that %s leads nowhere', (cite) => {
  expect(citesOf(cite).every(isResolved)).toBe(false);
});

it('"contract" with a clause is cited nowhere: it means the provider contract of specification §4.5', () => {
  expect(files.filter((file) => /\bcontract(?:'s)? (?=§)/i.test(textOf(file)))).toEqual([]);
});
