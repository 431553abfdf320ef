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
  readonly collapsed: boolean;
  readonly items: Link[];
}

/** Every page once, so that each is found here; a test compares with the files. The reference of the interfaces has its own sidebar. */
export const SECTIONS: readonly (readonly [string, readonly Entry[]])[] = [
  [
    'First hour',
    [
      ['What Latchkey is', 'docs/index.md'],
      ['How do I …?', 'docs/how-do-i.md'],
      ['Quick start', 'docs/quick-start.md'],
      ['How it works', 'docs/how-it-works.md'],
      ['Glossary', 'docs/glossary.md'],
      ['When to take something else', 'docs/alternatives.md'],
    ],
  ],
  [
    'Front end',
    [
      ['Plain HTML and JavaScript', 'docs/guides/plain.md'],
      ['React', 'docs/guides/react.md'],
      ['A React application', 'examples/react/README.md'],
      ['Vue', 'docs/guides/vue.md'],
      ['The callback page', 'docs/guides/callback-page.md'],
      ['The browser SDK', 'docs/frontend.md'],
      ['@latchkey/client', 'packages/client/README.md'],
      ['Tokens in the browser', 'docs/browser-sessions.md'],
      ['Phones and the command line', 'docs/guides/native.md'],
      ['Devices without a browser', 'docs/device-sign-in.md'],
      ['Your own logo and colours', 'docs/brand.md'],
      ['Stock OAuth clients', 'docs/stock-clients.md'],
    ],
  ],
  [
    'Pages from a server',
    [
      ['Sessions', 'docs/server-sessions.md'],
      ['Next.js', 'docs/guides/nextjs.md'],
      ['SvelteKit', 'docs/guides/sveltekit.md'],
      ['Hono', 'docs/guides/hono.md'],
      ['Express', 'docs/guides/express-pages.md'],
    ],
  ],
  [
    'Your API',
    [
      ['Node.js', 'docs/guides/api.md'],
      ['@latchkey/server', 'packages/server/README.md'],
      ['Other languages', 'docs/guides/other-languages.md'],
      ['Go', 'verifiers/go/README.md'],
      ['Java', 'verifiers/java/README.md'],
      ['Python', 'verifiers/python/README.md'],
      ['Test vectors for verifiers', 'verifiers/vectors/README.md'],
      ['Programs that act for your users', 'docs/agents.md'],
      ['MCP', 'docs/mcp.md'],
      ['An MCP server', 'examples/mcp/README.md'],
      ['Forward auth', 'docs/forward-auth.md'],
      ['A gate before applications', 'examples/gate/README.md'],
      ['Session revocation feed', 'docs/ended-sessions.md'],
      ['Roles and groups', 'docs/guides/roles.md'],
      ['Sign in again where it matters', 'docs/guides/step-up.md'],
      ['Test your application', 'docs/test-your-application.md'],
    ],
  ],
  [
    'Events',
    [
      ['The channel and push', 'docs/realtime.md'],
      ['Webhooks', 'docs/webhooks.md'],
    ],
  ],
  [
    'Moving in',
    [
      ['From Auth0, Clerk, Firebase, a table', 'docs/guides/moving-in.md'],
      ['From Auth.js', 'docs/guides/from-auth-js.md'],
      ['From Supabase Auth', 'docs/guides/from-supabase.md'],
      ['From keycloak-js', 'docs/guides/from-keycloak-js.md'],
    ],
  ],
  [
    'Identity providers',
    [
      ['Connect a provider', 'docs/providers.md'],
      ['Apple', 'docs/providers/apple.md'],
      ['Auth0', 'docs/providers/auth0.md'],
      ['Discord', 'docs/providers/discord.md'],
      ['Facebook', 'docs/providers/facebook.md'],
      ['GitHub', 'docs/providers/github.md'],
      ['GitLab', 'docs/providers/gitlab.md'],
      ['Google', 'docs/providers/google.md'],
      ['Keycloak', 'docs/providers/keycloak.md'],
      ['LinkedIn', 'docs/providers/linkedin.md'],
      ['Microsoft Entra ID', 'docs/providers/microsoft.md'],
      ['Okta', 'docs/providers/okta.md'],
      ['Slack', 'docs/providers/slack.md'],
      ['Several providers', 'docs/several-providers.md'],
      ['Sign-out at the provider', 'docs/provider-sign-out.md'],
      ['Implement the contract', 'docs/provider-contract.md'],
      ['An example of the contract', 'examples/contract-provider/README.md'],
      ['@latchkey/check-provider', 'packages/check-provider/README.md'],
      ['Write an adapter', 'docs/provider-adapter.md'],
      ['An example of an adapter', 'examples/provider-adapter/README.md'],
      ['A bridge to SAML', 'examples/saml/README.md'],
      ['latchkey/adapter-test', 'packages/adapter-test/README.md'],
    ],
  ],
  [
    'Who may sign in',
    [
      ['Who may sign in', 'docs/guides/access-policy.md'],
      ['How long a session lasts', 'docs/guides/session-length.md'],
      ['One person, several providers', 'docs/guides/linking.md'],
      ['Ask the provider again', 'docs/guides/recheck.md'],
      ['Directories (SCIM)', 'docs/directory.md'],
      ['Entra ID as directory', 'docs/directory/entra.md'],
      ['Okta as directory', 'docs/directory/okta.md'],
      ['Requests of directories', 'docs/directory/requests.md'],
      ['Shared Signals', 'docs/signals.md'],
    ],
  ],
  [
    'Support',
    [
      ['Administration page', 'docs/administration.md'],
      ['Support handbook', 'docs/support.md'],
      ['Audit trail', 'docs/audit.md'],
    ],
  ],
  [
    'Operation',
    [
      ['Production', 'docs/production.md'],
      ['Check your configuration', 'docs/check.md'],
      ['Containers', 'docs/containers.md'],
      ['Database and Redis', 'docs/database.md'],
      ['@latchkey/embedded-postgres', 'packages/embedded-postgres/README.md'],
      ['Scaling out', 'docs/scaling-out.md'],
      ['Signing keys', 'docs/keys.md'],
      ['Backup, secrets, upgrades, log', 'docs/maintenance.md'],
      ['Metrics and traces', 'docs/metrics.md'],
      ['Packages', 'docs/packages.md'],
    ],
  ],
  [
    'Reference',
    [
      ['Endpoints', 'docs/endpoints.md'],
      ['Errors and troubleshooting', 'docs/errors.md'],
      ['Settings', 'docs/settings.md'],
      ['Specification', 'docs/specification.md'],
      ['Security model', 'docs/security-model.md'],
      ['Limits on input', 'docs/security.md'],
      ['Cross-device security', 'docs/cross-device-security.md'],
      ['Standards for sessions', 'docs/session-standards.md'],
      ['Versions: what is stable', 'docs/versions.md'],
      ['Compatibility', 'docs/compatibility.md'],
      ['Reliability', 'docs/reliability.md'],
      ['Injected faults', 'lab/results/faults.md'],
      ['Benchmark', 'docs/benchmark.md'],
      ['How the benchmark works', 'lab/bench/README.md'],
    ],
  ],
  [
    'Project',
    [
      ['For developers of Latchkey', 'docs/development.md'],
      ['Contributing', 'CONTRIBUTING.md'],
      ['For coding agents', 'AGENTS.md'],
      ['Code of conduct', 'CODE_OF_CONDUCT.md'],
      ['Security policy', 'SECURITY.md'],
      ['Supply chain', 'docs/supply-chain.md'],
      ['Changelog', 'CHANGELOG.md'],
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
    .map(([text, entries]) => ({
      text,
      collapsed: text !== 'First hour',
      items: entries.filter(exists).map(itemOf),
    }))
    .filter(({ items }) => items.length > 0);

/** Links at the top of each page. */
export function nav(): Link[] {
  const entries: Entry[] = [
    ['How do I …?', 'docs/how-do-i.md'],
    ['Quick start', 'docs/quick-start.md'],
    ['React', 'docs/guides/react.md'],
    ['Providers', 'docs/providers.md'],
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

const itemOf = ([text, file]: Entry): Link => ({
  text,
  link: `/${pageOf(file)
    .replace(/(^|\/)index\.md$/, '$1')
    .replace(/\.md$/, '')}`,
});
