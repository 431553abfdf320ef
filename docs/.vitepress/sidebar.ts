import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DefaultTheme } from 'vitepress';
import { httpPages } from './http-reference.js';
import { GENERATED, pageOf, ROOT } from './places.js';

type Entry = readonly [text: string, file: string];

/** In the order in which a reader needs it. What does not exist is left out. */
const SECTIONS: readonly (readonly [string, readonly Entry[]])[] = [
  [
    'Start',
    [
      ['What Latchkey is', 'docs/index.md'],
      ['Quick start', 'docs/quick-start.md'],
      ['When to take something else', 'docs/alternatives.md'],
    ],
  ],
  [
    'Front ends',
    [
      ['Plain HTML and JavaScript', 'docs/guides/plain.md'],
      ['React', 'docs/guides/react.md'],
      ['Next.js', 'docs/guides/nextjs.md'],
      ['Vue', 'docs/guides/vue.md'],
      ['A React application in 60 lines', 'examples/react/README.md'],
      ['All about the browser SDK', 'docs/frontend.md'],
      ['Browsers', 'docs/browsers.md'],
    ],
  ],
  [
    'Your own API',
    [
      ['Express', 'docs/guides/express.md'],
      ['Fastify', 'docs/guides/fastify.md'],
      ['NestJS', 'docs/guides/nestjs.md'],
      ['The package in full', 'packages/server/README.md'],
      ['Ended sessions, other languages', 'docs/ended-sessions.md'],
    ],
  ],
  [
    'Providers and clients',
    [
      ['Identity providers', 'docs/providers.md'],
      ['The contract, as an example', 'examples/contract-provider/README.md'],
      ['An adapter, as an example', 'examples/provider-adapter/README.md'],
      ['Checking a provider', 'packages/check-provider/README.md'],
      ['Stock OAuth clients', 'docs/stock-clients.md'],
    ],
  ],
  [
    'HTTP and channel',
    [
      ['The calls on one page', 'docs/endpoints.md'],
      ['The channel and push', 'docs/realtime.md'],
    ],
  ],
  ['When something fails', [['Errors and troubleshooting', 'docs/errors.md']]],
  [
    'Security',
    [
      ['Security model', 'docs/security-model.md'],
      ['Limits on what strangers send', 'docs/security.md'],
      ['Supply chain', 'docs/supply-chain.md'],
      ['Signing keys', 'docs/keys.md'],
      ['Audit trail', 'docs/audit.md'],
      ['Reporting a weakness', 'SECURITY.md'],
    ],
  ],
  [
    'Operation',
    [
      ['Production', 'docs/production.md'],
      ['Settings', 'docs/settings.md'],
      ['Containers', 'docs/containers.md'],
      ['Scaling out', 'docs/scaling-out.md'],
      ['Metrics, traces, alerts', 'docs/metrics.md'],
      ['Benchmark', 'docs/benchmark.md'],
      ['Reliability', 'docs/reliability.md'],
      ['Compatibility', 'docs/compatibility.md'],
    ],
  ],
  [
    'Packages',
    [
      ['What can be installed', 'docs/packages.md'],
      ['@latchkey/client', 'packages/client/README.md'],
      ['@latchkey/embedded-postgres', 'packages/embedded-postgres/README.md'],
      ['Changelog', 'CHANGELOG.md'],
      ['Contributing', 'CONTRIBUTING.md'],
    ],
  ],
];

/** Every page that is written by hand. */
export const WRITTEN = SECTIONS.flatMap(([, entries]) => entries.map(([, file]) => file));

export function sidebar(): DefaultTheme.SidebarItem[] {
  const http = httpPages().map(({ name, file }): Entry => [`HTTP: ${name}`, file]);
  return [...SECTIONS, ['Reference', [...http, ...sdkPages('client'), ...sdkPages('server')]] as const]
    .map(([text, entries]) => ({ text, items: entries.filter(exists).map(itemOf) }))
    .filter(({ items }) => items.length > 0);
}

/** What most readers look for, at the top of each page. */
export function nav(): DefaultTheme.NavItemWithLink[] {
  const entries: Entry[] = [
    ['Quick start', 'docs/quick-start.md'],
    ['React', 'docs/guides/react.md'],
    ['Front ends', 'docs/frontend.md'],
    ['Production', 'docs/production.md'],
    ['Errors', 'docs/errors.md'],
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

const itemOf = ([text, file]: Entry): { text: string; link: string } => ({
  text,
  link: `/${pageOf(file)
    .replace(/(^|\/)index\.md$/, '$1')
    .replace(/\.md$/, '')}`,
});
