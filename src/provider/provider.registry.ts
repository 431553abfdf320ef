import { ADAPTER_ACCEPTS } from '../config/provider-adapters.js';
import { InvalidSettings } from '../config/invalid-settings.js';
import type { Settings } from '../config/settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import { loadAdapter } from './load-adapter.js';
import { Provider } from './provider.js';
import type { ProviderAdapter } from './provider-adapter.js';

/** The providers that are configured and enabled (spec §4.6). */
export class ProviderRegistry {
  private constructor(private readonly providers: ReadonlyMap<string, Provider>) {}

  /**
   * Gives each provider its adapter; those of integrators are loaded, and checked, now. No provider is asked anything.
   * @param builtIn the adapters that come with the service, by name
   * @throws InvalidSettings with a line for each adapter that is none
   */
  static async load(
    { providers }: Pick<Settings, 'providers'>,
    builtIn: ReadonlyMap<string, ProviderAdapter>,
  ): Promise<ProviderRegistry> {
    const loaded = new Map<string, Provider>();
    const faults: string[] = [];
    for (const [name, settings] of providers) {
      try {
        const adapter = builtIn.get(settings.adapter) ?? (await loadAdapter(settings.adapter));
        loaded.set(name, new Provider(settings, adapter));
      } catch (error) {
        const was = `was ${JSON.stringify(settings.adapter)}, which ${(error as Error).message}`;
        faults.push(`providers.${name}.adapter: ${was}; accepted: ${ADAPTER_ACCEPTS}`);
      }
    }
    if (faults.length > 0) throw new InvalidSettings(faults);
    return new ProviderRegistry(loaded);
  }

  /** @throws OAuthError `invalid_request` when no provider of that name is configured and enabled. */
  get(name: string): Provider {
    const provider = this.providers.get(name);
    if (!provider) throw new OAuthError('invalid_request', 'provider is unknown or disabled');
    return provider;
  }
}
