import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { headingsOf, linksOf } from '../docs/.vitepress/markdown.js';
import { GENERATED, pageOf, ROOT } from '../docs/.vitepress/places.js';
import { WRITTEN } from '../docs/.vitepress/sidebar.js';
import { slugOf } from '../docs/.vitepress/slug.js';

const namesIn = (folder: string, recursive = false): string[] =>
  readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' }).map((name) => join(folder, name));
const files = [
  ...namesIn('.'),
  ...namesIn('docs', true),
  ...[...namesIn('packages'), ...namesIn('examples')].map((folder) => join(folder, 'README.md')),
].filter((file) => file.endsWith('.md') && !file.startsWith(GENERATED) && existsSync(join(ROOT, file)));

it.each(files)('%s: its links lead somewhere, in the repository and in the site', (file) => {
  const dead = linksOf(file).filter(({ path, hash }) => {
    if (!existsSync(join(ROOT, path))) return true;
    if (hash === '') return false;
    // The README is not part of the site, whose home page has other headings.
    return (
      (path === 'README.md' && file !== path) ||
      !path.endsWith('.md') ||
      !headingsOf(path).has(decodeURIComponent(hash))
    );
  });
  expect(dead.map(({ href }) => href)).toEqual([]);
});

it('has every document in the sidebar, and each page of the site once', () => {
  const documents = files.filter((file) => file !== 'README.md');
  expect(documents.filter((file) => !WRITTEN.includes(file))).toEqual([]);
  expect(new Set(WRITTEN.map(pageOf)).size).toBe(WRITTEN.length);
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
