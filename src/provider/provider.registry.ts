import { SAMPLE_PROVIDER } from '../config/providers/enabled-providers.js';
import { siblingVariable } from '../config/providers/provider-variables.js';
import type { ProviderSettings, Settings } from '../config/settings/settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { Events } from '../events.js';
import { loadAdapter } from './custom/custom-adapters.js';
import { withPreset } from './presets.js';
import { Provider } from './provider.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { shareRedirectUri } from './redirect-uris.js';
import { sampleProvider } from './sample-provider.js';
import { ADAPTERS } from '../config/providers/provider-keys.js';

/** The providers that are configured and enabled (spec §4.6). */
export class ProviderRegistry {
  private constructor(
    private readonly providers: ReadonlyMap<string, Provider>,
    private readonly appSettings: Settings,
  ) {}

  /**
   * Gives each provider its adapter. Adapters of integrators were checked before the start (custom-adapters.ts).
   * Sends nothing to any provider.
   * @param builtIn the adapters that come with the service, by name
   */
  static async load(
    settings: Settings,
    builtIn: ReadonlyMap<string, ProviderAdapter>,
    events: Events,
  ): Promise<ProviderRegistry> {
    const loaded = new Map<string, Provider>();
    const sample = sampleProvider(settings);
    for (const given of [...(sample ? [sample] : []), ...settings.providers.values()]) {
      const provider = withPreset(given);
      const adapter = builtIn.get(provider.adapter) ?? (await loadAdapter(provider.adapter));
      loaded.set(provider.name, new Provider(provider, adapter, undefined, events));
    }
    return new ProviderRegistry(loaded, settings);
  }

  /**
   * Lets the adapters that come with the service look at their providers, all at once; those of integrators were asked before
   * the start. Never throws, and ends within the time of one check: nobody needs to wait for it, since what another party
   * publishes must not keep the service from starting.
   *
   * @param warn gets a line for each thing that was found
   */
  async check(warn: (line: string) => void): Promise<void> {
    const builtIn = [...this.providers.values()].filter(({ settings }) => ADAPTERS.has(settings.adapter));
    await Promise.all([...builtIn.map((provider) => provider.check(warn)), this.checkRedirectUris(warn)]);
  }

  /**
   * Warns of mix-up (RFC 9700 §4.4): with one redirect URI for two providers, only `iss` says which of them made a code.
   * Outside production the built-in sample provider is not counted.
   */
  private async checkRedirectUris(warn: (line: string) => void): Promise<void> {
    const { production, sampleProvider: isServed } = this.appSettings;
    const all = [...this.providers.values()].filter(
      ({ settings }) => production || !isServed || settings.name !== SAMPLE_PROVIDER,
    );
    const isShared = (one: Provider, other: Provider): boolean =>
      one !== other && shareRedirectUri(this.appSettings, one.settings, other.settings);
    const sharing = all.filter((one) => all.some((other) => isShared(one, other)));
    const sends = new Map(
      await Promise.all(sharing.map(async (one) => [one, await one.sendsIssuer()] as const)),
    );
    const atRisk = sharing.filter((one) =>
      sharing.some((other) => isShared(one, other) && !(sends.get(one) && sends.get(other))),
    );
    if (atRisk.length === 0) return;
    const names = atRisk.map(({ settings }) => settings.name).join(', ');
    const variables = atRisk.map(({ settings }) =>
      siblingVariable(settings.variables.adapter, 'redirect_uris'),
    );
    warn(
      `Providers ${names} share a redirect URI, and not all of them send iss in the callback: one of them could get codes of another (mix-up, RFC 9700 §4.4). Give each its own: ${variables.join(', ')}`,
    );
  }

  /** @throws OAuthError `invalid_request` when no provider of that name is configured and enabled. */
  get(name: string): Provider {
    const provider = this.find(name);
    if (!provider) throw new OAuthError('invalid_request', 'provider is unknown or disabled');
    return provider;
  }

  /** All of them, in the order of the configuration; the built-in one first. */
  list(): readonly ProviderSettings[] {
    return [...this.providers.values()].map(({ settings }) => settings);
  }

  /** @returns undefined when no provider of that name is configured and enabled */
  find(name: string): Provider | undefined {
    return this.providers.get(name);
  }
}
