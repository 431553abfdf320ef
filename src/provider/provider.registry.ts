import { withPreset } from '../platform/config/providers/presets.js';
import { ADAPTERS } from '../platform/config/providers/provider-keys.js';
import { siblingVariable } from '../platform/config/providers/provider-variables.js';
import type { ProviderSettings, Settings } from '../platform/config/settings/settings.js';
import type { Clock } from '../platform/database/clock.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { Events } from '../platform/events.js';
import { ContractAdapter } from './adapters/contract.adapter.js';
import { OAuth2Adapter } from './adapters/oauth2.adapter.js';
import { OidcAdapter } from './adapters/oidc.adapter.js';
import { loadAdapter } from './custom/custom-adapters.js';
import { Provider } from './provider.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { shareRedirectUri } from './redirect-uris.js';
import { ProviderHttp } from './transport/provider-http.js';

/** Configured and enabled providers (spec §4.6). */
export class ProviderRegistry {
  private constructor(
    private readonly providers: ReadonlyMap<string, Provider>,
    private readonly appSettings: Settings,
  ) {}

  /** Gives providers their adapters. @param builtIn by name @param clock of the database; not in commands */
  static async load(
    settings: Settings,
    builtIn: ReadonlyMap<string, ProviderAdapter>,
    events: Events,
    clock?: Pick<Clock, 'now'>,
  ): Promise<ProviderRegistry> {
    const loaded = new Map<string, Provider>();
    for (const settingsOfOne of settings.providers.values()) {
      const provider = withPreset(settingsOfOne);
      const adapter = builtIn.get(provider.adapter) ?? (await loadAdapter(provider.adapter));
      loaded.set(provider.name, new Provider(provider, adapter, undefined, events, clock));
    }
    return new ProviderRegistry(loaded, settings);
  }

  /** Checks built-in adapters, concurrently, within 5 s. Never throws. @param warn gets a line each */
  async check(warn: (line: string) => void): Promise<void> {
    const builtIn = [...this.providers.values()].filter(({ settings }) => ADAPTERS.has(settings.adapter));
    await Promise.all([...builtIn.map((provider) => provider.check(warn)), this.checkRedirectUris(warn)]);
  }

  /** Warns of mix-up (RFC 9700 §4.4): at a shared redirect URI, only `iss` shows who issued a code. */
  private async checkRedirectUris(warn: (line: string) => void): Promise<void> {
    const { production } = this.appSettings;
    const all = [...this.providers.values()].filter(({ settings }) => production || !settings.isBuiltIn);
    const pairs = all
      .flatMap((one, i) => all.slice(i + 1).map((other) => [one, other] as const))
      .filter(([one, other]) => shareRedirectUri(this.appSettings, one.settings, other.settings));
    const sharing = [...new Set(pairs.flat())];
    const sends = await Promise.all(sharing.map((provider) => provider.sendsIssuer()));
    const withoutIssuer = sharing.filter((_, i) => !sends[i]);
    const unsafe = pairs.filter((pair) => pair.some((one) => withoutIssuer.includes(one))).flat();
    const atRisk = all.filter((provider) => unsafe.includes(provider)).map(({ settings }) => settings);
    if (atRisk.length === 0) return;
    const names = atRisk.map(({ name }) => name).join(', ');
    const variables = atRisk.map(({ variables: { adapter } }) => siblingVariable(adapter, 'redirect_uris'));
    warn(
      `Providers ${names} share a redirect URI, and not all of them send iss in the callback: one of them could get codes of another (mix-up, RFC 9700 §4.4). Give each its own: ${variables.join(', ')}`,
    );
  }

  /** @throws OAuthError `invalid_request` if no such provider is configured and enabled */
  get(name: string): Provider {
    const provider = this.find(name);
    if (provider) return provider;
    const message = 'provider is unknown or disabled';
    throw new OAuthError('invalid_request', message, { reason: `${message}: ${name}` });
  }

  /** Settings of all providers, the built-in first, then in the order of the configuration. */
  list(): readonly ProviderSettings[] {
    return [...this.providers.values()].map(({ settings }) => settings);
  }

  find(name: string): Provider | undefined {
    return this.providers.get(name);
  }
}

export function builtInAdapters(http: ProviderHttp): ReadonlyMap<string, ProviderAdapter> {
  return new Map<string, ProviderAdapter>([
    ['contract', new ContractAdapter(http)],
    ['oidc', new OidcAdapter(http)],
    ['oauth2', new OAuth2Adapter(http)],
  ]);
}

/** Loads the providers of the settings for a command, which has no database. */
export async function loadProviders(settings: Settings) {
  const http = new ProviderHttp();
  const registry = await ProviderRegistry.load(settings, builtInAdapters(http), new Events());
  return { registry, close: () => http.onApplicationShutdown() };
}
