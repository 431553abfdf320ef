import { ADAPTERS } from '../config/provider-adapters.js';
import type { ProviderSettings, Settings } from '../config/settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { Events } from '../events.js';
import { loadAdapter } from './load-adapter.js';
import { withPreset } from './presets.js';
import { Provider } from './provider.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { sampleProvider } from './sample-provider.js';

/** The providers that are configured and enabled (spec §4.6). */
export class ProviderRegistry {
  private constructor(private readonly providers: ReadonlyMap<string, Provider>) {}

  /**
   * Gives each provider its adapter. Adapters of integrators were checked before the start (check-adapters.ts).
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
    return new ProviderRegistry(loaded);
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
    await Promise.all(builtIn.map((provider) => provider.check(warn)));
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
