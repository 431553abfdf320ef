import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { headingsOf, linksOf } from '../../docs/.vitepress/markdown.js';
import { GENERATED, pageOf, ROOT } from '../../docs/.vitepress/places.js';
import { LISTED } from '../../docs/.vitepress/sidebar.js';
import { documents } from '../../docs/.vitepress/linked-files.js';
import { slugOf } from '../../docs/.vitepress/slug.js';
import { rowsAsHeadings } from '../../docs/.vitepress/table-search.js';

const namesIn = (folder: string, recursive = false): string[] =>
  readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' }).map((name) => join(folder, name));
const files = [
  ...namesIn('.'),
  ...namesIn('docs', true),
  ...[...namesIn('packages'), ...namesIn('examples'), ...namesIn('verifiers')].map((folder) =>
    join(folder, 'README.md'),
  ),
]
  .filter((file) => file.endsWith('.md') && !file.startsWith(GENERATED) && existsSync(join(ROOT, file)))
  .filter((file) => !file.includes('node_modules'));

it.each(files)('%s: its links exist, in the repository and in the site', (file) => {
  const dead = linksOf(file).filter(({ path, hash }) => {
    if (!existsSync(join(ROOT, path))) return true;
    if (hash === '') return false;
    // The README is not part of the site: its home page has other headings.
    return (
      (path === 'README.md' && file !== path) ||
      !path.endsWith('.md') ||
      !headingsOf(path).has(decodeURIComponent(hash))
    );
  });
  expect(dead.map(({ href }) => href)).toEqual([]);
});

it('lists every page once in the sidebar', () => {
  const pages = new Set([...files, ...documents()]);
  pages.delete('README.md');
  expect(LISTED.toSorted()).toEqual([...pages].toSorted());
  expect(new Set(LISTED.map(pageOf)).size).toBe(LISTED.length);
});

it.each(['docs/how-do-i.md', 'docs/glossary.md'])('%s: the search finds each row alone', (file) => {
  const text = rowsAsHeadings(readFileSync(join(ROOT, file), 'utf8'), file);
  const ids = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slugOf(heading!));
  expect(text).not.toMatch(/^\|/m);
  expect(ids.length).toBeGreaterThan(25);
  expect(new Set(ids).size).toBe(ids.length);
});

const SOURCES = [
  'demo',
  'deploy',
  'docs',
  'examples',
  'lab',
  'openapi',
  'packages',
  'src',
  'test',
  'verifiers',
];
const sources = [...namesIn('.'), ...SOURCES.flatMap((folder) => namesIn(folder, true))].filter(
  (file) =>
    /\.(?:md|[cm]?[jt]sx?|vue|sh|ya?ml|json|html)$/.test(file) &&
    !/(?:^|\/)(?:node_modules|dist(?:-\w+)?|together|reference|\.temp)\//.test(file) &&
    file !== 'package-lock.json',
);
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
/** If no package of that name is installed, npx, without the option, downloads one and runs it with the secrets of its command. */
const DOWNLOADS = /\b(?:npx|npm exec|npm x|pnpm dlx|yarn dlx|bunx)\s+(?!--no-install\s)[^\n]*/g;

it('runs no package from the registry by its name, in any document, example or message', () => {
  const found = sources.flatMap((file) =>
    (textOf(file).match(DOWNLOADS) ?? []).map((line) => `${file}: ${line}`),
  );
  expect(found).toEqual([]);
  expect(sources).toEqual(
    expect.arrayContaining(['README.md', 'docs/keys.md', 'examples/contract-provider/README.md']),
  );
});

/** The blocks of code of a document, or a file of an example. */
const codeOf = (file: string): string[] =>
  file.endsWith('.md')
    ? [...textOf(file).matchAll(/^```\w+\n([^]*?)^```$/gm)].map(([, code]) => code!)
    : [textOf(file)];

it('reads an answer in documents and examples only after a look at its status', () => {
  const readers = [
    ...files,
    ...sources.filter((file) => /^(?:demo|examples)\/.*\.[jt]sx?$/.test(file)),
  ].flatMap((file) =>
    codeOf(file)
      .filter((code) => /fetch\(/.test(code) && /\.(?:json|text)\(\)/.test(code))
      .map((code) => ({ file, code })),
  );
  expect(readers.filter(({ code }) => !/\bok\b/.test(code)).map(({ file }) => file)).toEqual([]);
  expect(readers.map(({ file }) => file)).toEqual(
    expect.arrayContaining([
      'docs/guides/react.md',
      'docs/guides/vue.md',
      'docs/guides/nextjs.md',
      'examples/react/src/main.tsx',
    ]),
  );
});

// As github-slugger, which is GitHub's own rule, has them.
it.each([
  ['What `verify()` costs', 'what-verify-costs'],
  ['Poolers & proxies', 'poolers--proxies'],
  ['TLS, sockets, passwords', 'tls-sockets-passwords'],
  ['Is `iss` “right”? 3.2', 'is-iss-right-32'],
  ['Übergang – invalid_request', 'übergang--invalid_request'],
])('makes of the heading %s the id %s', (heading, id) => {
  expect(slugOf(heading)).toBe(id);
});
