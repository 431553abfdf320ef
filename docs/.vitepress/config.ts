import { defineConfig } from 'vitepress';
import { deadAnchors } from './dead-anchors.js';
import { diagramsAsTables } from './diagrams.js';
import { repositoryLinks } from './links.js';
import { pageOf } from './places.js';
import { rowIds } from './row-ids.js';
import { nav, sidebar } from './sidebar.js';
import { slugOf } from './slug.js';
import { rowsAsHeadings } from './table-search.js';

export default defineConfig({
  title: 'Latchkey',
  description:
    'A sign-in service: OAuth 2.0 against your identity provider, its own tokens, a session for each device.',
  lang: 'en',
  srcDir: '..',
  srcExclude: [
    '!(docs|packages|examples|lab|verifiers|*.md)/**',
    'lab/**/node_modules/**',
    'README.md',
    '{packages,examples,verifiers}/*/!(README.md)/**',
  ],
  rewrites: pageOf,
  cacheDir: '../node_modules/.cache/vitepress',
  cleanUrls: false, // so that any server of files will do
  metaChunk: true,
  ignoreDeadLinks: 'localhostLinks', // the service's own pages, as they are when it is tried
  head: [['meta', { name: 'theme-color', content: '#3a48d4' }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    config: (md) => md.use(repositoryLinks).use(diagramsAsTables).use(rowIds),
  },
  vite: { envDir: 'docs/.vitepress', publicDir: 'docs/.vitepress/public' },
  buildEnd({ outDir, site }) {
    const dead = deadAnchors(outDir, site.base);
    if (dead.length > 0) throw new Error(`Links that lead nowhere:\n${dead.join('\n')}`);
  },
  transformHead: ({ siteData: { base } }) => [['link', { rel: 'icon', href: `${base}key.svg` }]],
  themeConfig: {
    logo: '/key.svg',
    nav: nav(),
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render(text, env: { relativePath: string; frontmatter?: { search?: boolean } }, md) {
          const html = md.render(rowsAsHeadings(text, env.relativePath), env);
          return env.frontmatter?.search === false ? '' : html;
        },
      },
    },
    docFooter: { prev: 'Before', next: 'Next' },
  },
});
