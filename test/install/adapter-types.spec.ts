import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PackageProject } from '../support/package-project.js';

/** What the author of an adapter has: `latchkey`, and none of what it depends on (contract §6). */
let project: PackageProject;
let types: string;

beforeAll(async () => {
  project = await PackageProject.install(['latchkey'], 'module');
  types = join(project.place('latchkey'), 'dist/src/provider/adapter.d.ts');
});
afterAll(() => project?.remove());

it('are those of the service alone: no declaration of another package is read', () => {
  const seen = new Set([types]);
  for (const file of seen) {
    const found = readFileSync(file, 'utf8').matchAll(
      /(?:from|import)\s*\(?['"]([^'"]+)['"]|<reference ([^>]+)>/g,
    );
    for (const [, path = '', reference] of found) {
      expect([file, path, reference]).toEqual([file, expect.stringMatching(/^\.{1,2}\/.*\.js$/), undefined]);
      seen.add(join(dirname(file), path.replace(/\.js$/, '.d.ts')));
    }
  }
  expect(seen.size).toBeGreaterThan(1);
});

const ADAPTER = `
  import type { AuthorizationRequest, ExchangeRequest, ProviderAdapter, ProviderIdentity, ProviderSettings } from 'latchkey/adapter';

  const adapter: ProviderAdapter = {
    authorizationUrl: ({ url, clientId }: ProviderSettings, { state, redirectUri }: AuthorizationRequest) => {
      const page = new URL('/login', url);
      page.search = String(new URLSearchParams({ clientId, state, redirectUri }));
      return { url: page, memory: { page: page.href } };
    },
    async exchange({ options }, { code, signal }: ExchangeRequest): Promise<ProviderIdentity> {
      const answer = await fetch(options['whoami'] + code, { signal });
      return { provider_user_id: await answer.text() };
    },
    issuer: 'own',
    check: ({ options }) => {
      if (!options['whoami']) throw Object.assign(new Error('whoami is missing'), { error: 'invalid_request' });
    },
  };
  export default adapter;

  // @ts-expect-error without exchange() it is none
  export const none: ProviderAdapter = { authorizationUrl: () => new URL('https://provider.example') };
`;

it('are enough for an adapter in strict mode, with nothing but `latchkey` installed', async () => {
  const sources = { 'adapter.ts': ADAPTER };
  const options = { lib: ['es2022', 'dom'], module: 'nodenext', verbatimModuleSyntax: true };
  expect(await project.typeCheck(sources, options)).toBe('');
});
