import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { httpPages } from './http-reference.js';
import { GENERATED, pageOf, ROOT } from './places.js';

type Entry = readonly [text: string, file: string];

interface Link {
  readonly text: string;
  readonly link: string;
}

interface Group {
  readonly text: string;
  readonly items: Link[];
}

/** At most 25 entries, so that a reader sees all of them. Other pages are linked from these; the reference has its own sidebar. */
export const SECTIONS: readonly (readonly [string, readonly Entry[]])[] = [
  [
    'Start',
    [
      ['What Latchkey is', 'docs/index.md'],
      ['Quick start', 'docs/quick-start.md'],
      ['How it works', 'docs/how-it-works.md'],
    ],
  ],
  [
    'Your application',
    [
      ['Plain HTML and JavaScript', 'docs/guides/plain.md'],
      ['React', 'docs/guides/react.md'],
      ['Next.js', 'docs/guides/nextjs.md'],
      ['Vue', 'docs/guides/vue.md'],
      ['Your own API', 'docs/guides/api.md'],
      ['Roles and groups', 'docs/guides/roles.md'],
      ['The browser SDK', 'docs/frontend.md'],
      ['The channel and push', 'docs/realtime.md'],
      ['Test your application', 'docs/test-your-application.md'],
    ],
  ],
  [
    'Identity providers',
    [
      ['Connect a provider', 'docs/providers.md'],
      ['Several providers', 'docs/several-providers.md'],
      ['Implement the contract', 'docs/provider-contract.md'],
      ['Write an adapter', 'docs/provider-adapter.md'],
      ['Stock OAuth clients', 'docs/stock-clients.md'],
    ],
  ],
  [
    'Look up',
    [
      ['Endpoints', 'docs/endpoints.md'],
      ['Errors and troubleshooting', 'docs/errors.md'],
      ['Settings', 'docs/settings.md'],
      ['Security model', 'docs/security-model.md'],
    ],
  ],
  [
    'Operation',
    [
      ['Production', 'docs/production.md'],
      ['Scaling out', 'docs/scaling-out.md'],
      ['Metrics, traces, alerts', 'docs/metrics.md'],
      ['Administration page', 'docs/administration.md'],
    ],
  ],
];

/** Pages in the sidebar. */
export const LISTED = SECTIONS.flatMap(([, entries]) => entries.map(([, file]) => file));

export function sidebar(): Record<string, Group[]> {
  const http = httpPages().map(({ name, file }): Entry => [name, file]);
  const reference = [
    ['HTTP', http],
    ['Browser SDK', sdkPages('client')],
    ['Server package', sdkPages('server')],
  ] as const;
  return { [`/${pageOf(`${GENERATED}/`)}`]: groups(reference), '/': groups(SECTIONS) };
}

const groups = (sections: readonly (readonly [string, readonly Entry[]])[]): Group[] =>
  sections
    .map(([text, entries]) => ({ text, items: entries.filter(exists).map(itemOf) }))
    .filter(({ items }) => items.length > 0);

/** Links at the top of each page. */
export function nav(): Link[] {
  const entries: Entry[] = [
    ['Quick start', 'docs/quick-start.md'],
    ['React', 'docs/guides/react.md'],
    ['Providers', 'docs/providers.md'],
    ['Production', 'docs/production.md'],
    ['Errors', 'docs/errors.md'],
    ['Specification', 'docs/specification.md'],
    ['HTTP', httpPages()[0]!.file],
    ['SDK', `${GENERATED}/client/index.md`],
  ];
  return entries.filter(exists).map(itemOf);
}

/** A page for each module of a package, the main one first. */
function sdkPages(name: string): Entry[] {
  const folder = join(ROOT, GENERATED, name);
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.md'),
  );
  const importedAs = (file: string): string =>
    `@latchkey/${name}/${file.slice(0, -3)}`.replace(/\/index$/, '');
  return files
    .map((file): Entry => [importedAs(file), `${GENERATED}/${name}/${file}`])
    .toSorted(([a], [b]) => a.localeCompare(b));
}

const exists = ([, file]: Entry): boolean => existsSync(join(ROOT, file));

const itemOf = ([text, file]: Entry): Link => ({
  text,
  link: `/${pageOf(file)
    .replace(/(^|\/)index\.md$/, '$1')
    .replace(/\.md$/, '')}`,
});
