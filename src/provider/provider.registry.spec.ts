import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSettings } from '../platform/config/settings/parse-settings.js';
import { SettingTables } from '../platform/config/settings/settings-part.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { Events } from '../platform/events.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { ProviderRegistry } from './provider.registry.js';

const keys = (name: string, more: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ client_id: 'app', client_secret: 's3cret', ...more }).map(([key, value]) => [
      `providers.${name}.${key}`,
      value,
    ]),
  );

const tables = new SettingTables([
  {
    builtInProvider: {
      name: 'own',
      keys: {},
      options: {},
      read: () => ({}),
      complete: (read) => ({ ...read, url: 'https://id.example/own', clientId: 'x', clientSecret: 'y' }),
    },
  },
]);

/** The providers that are configured and enabled (spec §4.6). */
describe('the registry of providers', () => {
  /** An adapter that comes with the service; its check says its name. */
  const builtIn = (name: string): ProviderAdapter => ({
    authorizationUrl: () => new URL(`https://${name}.example`),
    exchange: () => Promise.reject(new Error(name)),
    check: ({ name: provider }) => {
      throw new Error(`${provider} by ${name}`);
    },
  });
  const adapters = new Map(['contract', 'oauth2', 'oidc'].map((name) => [name, builtIn(name)]));
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-registry-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  const load = (env: Record<string, string>, events = new Events()): Promise<ProviderRegistry> =>
    ProviderRegistry.load(
      parseSettings({ SECRET_KEY: 'ab'.repeat(32), ...env }, { tables }),
      adapters,
      events,
    );
  const OFF = { PROVIDERS_OWN_ENABLED: 'false' };
  const pageOf = async (registry: ProviderRegistry, name: string): Promise<string> =>
    (await registry.get(name).authorizationUrl({ state: 's', redirectUri: 'https://a.example' })).url.href;

  it('has the built-in one first, then those of the configuration, completed from their presets', async () => {
    const registry = await load({
      ...keys('corp', { url: 'https://id.example' }),
      ...keys('hub', { adapter: 'github' }),
    });
    expect(registry.list().map(({ name, adapter }) => [name, adapter])).toEqual([
      ['own', 'contract'],
      ['corp', 'contract'],
      ['hub', 'oauth2'],
    ]);
    expect(await pageOf(registry, 'hub')).toBe('https://oauth2.example/');
    expect(await pageOf(registry, 'corp')).toBe('https://contract.example/');
  });

  it('finds a provider by its name, and says when there is none', async () => {
    const registry = await load({
      ...keys('corp', { url: 'https://id.example' }),
      ...keys('gone', { url: 'https://gone.example', enabled: 'false' }),
    });
    expect(registry.get('corp')).toBe(registry.find('corp'));
    for (const name of ['gone', 'nobody', 'constructor', '']) {
      expect(registry.find(name)).toBeUndefined();
      expect(() => registry.get(name)).toThrow(
        new OAuthError('invalid_request', 'provider is unknown or disabled'),
      );
    }
  });

  it('loads the adapters of integrators, and lets only those of the service look at their providers', async () => {
    const file = join(folder, 'own.mjs');
    writeFileSync(
      file,
      `export default {
        authorizationUrl: () => new URL('https://own.example'), exchange() {}, check() { throw new Error('own'); },
      };`,
    );
    const registry = await load({
      ...keys('corp', { adapter: file, redirect_uris: 'https://corp.example/cb' }),
      ...keys('forum', {
        adapter: 'oidc',
        url: 'https://id.example',
        redirect_uris: 'https://forum.example/cb',
      }),
      ...OFF,
    });
    expect(await pageOf(registry, 'corp')).toBe('https://own.example/');
    const lines: string[] = [];
    await registry.check((line) => void lines.push(line));
    expect(lines).toEqual(['Provider forum cannot be used now: forum by oidc']);
  });

  describe('one redirect URI for two providers (RFC 9700 §4.4)', () => {
    const A = 'https://app.example/a';
    const B = 'https://app.example/b';
    const own = (uris: string) => ({ redirect_uris: uris });
    const sends = { issuer: 'https://id.example' };
    const warnings = async (
      providers: Record<string, Record<string, string>>,
      env: Record<string, string> = {},
    ): Promise<string[]> => {
      const all = Object.entries(providers).map(([name, more]) =>
        keys(name, { url: `https://${name}.example`, ...more }),
      );
      const lines: string[] = [];
      const quiet = new Map([['contract', { ...builtIn('contract'), check: () => undefined }]]);
      const set = Object.assign({ SECRET_KEY: 'ab'.repeat(32) }, ...all) as Record<string, string>;
      const settings = parseSettings({ ...set, ...env }, { tables });
      const registry = await ProviderRegistry.load(settings, quiet, new Events());
      await registry.check((line) => void lines.push(line));
      return lines;
    };

    it.each<[string, Record<string, Record<string, string>>, Record<string, string>]>([
      ['any URL is allowed', { a: {}, b: {} }, {}],
      ['an own list has an entry of REDIRECT_URIS', { a: {}, b: own(A) }, { REDIRECT_URIS: `${B},${A}` }],
      ['two own lists have one entry', { a: own(`${A},${B}`), b: own(B) }, { REDIRECT_URIS: A }],
      [
        'two loopback entries differ in the port',
        { a: own('http://[::1]:1/x'), b: own('http://[::1]/x') },
        {},
      ],
      ['only one of them sends iss', { a: sends, b: {} }, { REDIRECT_URIS: A }],
    ])('is one warning if %s', async (_what, providers, env) => {
      expect(await warnings(providers, env)).toEqual([
        expect.stringMatching(
          /^Providers a, b share a redirect URI.*mix-up.*: providers\.a\.redirect_uris, providers\.b\.redirect_uris$/,
        ),
      ]);
    });

    it.each<[string, Record<string, Record<string, string>>, Record<string, string>]>([
      ['each has its own', { a: own(A), b: own(B) }, { REDIRECT_URIS: A }],
      ['both send iss', { a: sends, b: sends }, { REDIRECT_URIS: A }],
      ['there is one, beside the built-in one', { a: {} }, {}],
    ])('is none if %s', async (_what, providers, env) => {
      expect(await warnings(providers, env)).toEqual([]);
    });

    it('names only the providers at risk, in the spelling of their settings, and the built-in one in production', async () => {
      const env = {
        NODE_ENV: 'production',
        DATA_DIR: folder,
        DATABASE_URL: 'postgres://localhost/x',
        TRUST_PROXY: '1',
        PUBLIC_URL: 'https://id.example',
        REDIRECT_URIS: A,
        PROVIDERS_OWN_ENABLED: 'true',
        PROVIDERS_C_URL: 'https://c.example',
        PROVIDERS_C_CLIENT_ID: 'app',
        PROVIDERS_C_CLIENT_SECRET: 'a client secret of c',
      };
      const secret = { client_secret: 'a client secret of 16' };
      const [line, ...more] = await warnings({ a: { ...own(B), ...secret } }, env);
      expect(more).toEqual([]);
      expect(line).toMatch(
        /^Providers own, c share.*: PROVIDERS_OWN_REDIRECT_URIS, PROVIDERS_C_REDIRECT_URIS$/,
      );
    });
  });
});
