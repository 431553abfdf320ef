import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSettings } from '../config/parse-settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { ProviderRegistry } from './provider.registry.js';

const keys = (name: string, more: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ client_id: 'app', client_secret: 's3cret', ...more }).map(([key, value]) => [
      `providers.${name}.${key}`,
      value,
    ]),
  );

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
    ProviderRegistry.load(parseSettings({ SECRET_KEY: 'ab'.repeat(32), ...env }), adapters, events);
  const OFF = { PROVIDERS_MOCK_ENABLED: 'false' };
  const pageOf = async (registry: ProviderRegistry, name: string): Promise<string> =>
    (await registry.get(name).authorizationUrl({ state: 's', redirectUri: 'https://a.example' })).url.href;

  it('has the built-in one first, then those of the configuration, completed from their presets', async () => {
    const registry = await load({
      ...keys('corp', { url: 'https://id.example' }),
      ...keys('hub', { adapter: 'github' }),
    });
    expect(registry.list().map(({ name, adapter }) => [name, adapter])).toEqual([
      ['mock', 'contract'],
      ['corp', 'contract'],
      ['hub', 'oauth2'],
    ]);
    expect(await pageOf(registry, 'hub')).toBe('https://oauth2.example/');
    expect(await pageOf(registry, 'corp')).toBe('https://contract.example/');
  });

  it('is empty where nothing is enabled', async () => {
    expect((await load(OFF)).list()).toEqual([]);
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
      ...keys('corp', { adapter: file }),
      ...keys('forum', { adapter: 'oidc', url: 'https://id.example' }),
      ...OFF,
    });
    expect(await pageOf(registry, 'corp')).toBe('https://own.example/');
    const lines: string[] = [];
    await registry.check((line) => void lines.push(line));
    expect(lines).toEqual(['Provider forum cannot be used now: forum by oidc']);
  });

  it('lets others count what its providers are asked', async () => {
    const events = new Events();
    const asked: unknown[] = [];
    events.on('provider.asked', ({ provider }) => void asked.push(provider));
    await pageOf(await load({}, events), 'mock');
    expect(asked).toEqual(['mock']);
  });
});
