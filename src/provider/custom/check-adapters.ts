import { InvalidSettings } from '../../config/settings/invalid-settings.js';
import { siblingVariable } from '../../config/providers/provider-variables.js';
import type { ProviderSettings, Settings } from '../../config/settings/settings.js';
import { CHECK_MS, checkAdapter, oneLine, within } from './check-adapter.js';
import { loadAdapter } from './load-adapter.js';
import type { ProviderAdapter } from '../provider-adapter.js';
import { ADAPTER_ACCEPTS, ADAPTERS } from '../../config/providers/provider-keys.js';

/** Milliseconds in which an integrator's file must load, and its `check` must answer. */
const TIMES = { load: 30_000, check: CHECK_MS };

/**
 * Loads the adapters of integrators and lets them look at their settings, all at once, before anything is started (contract
 * §2, §6). Node.js keeps what it has loaded, so the registry finds the same objects later.
 *
 * @param warn gets a line for each provider that could not be checked; it holds what the adapter said, but no setting
 * @throws InvalidSettings with a line for each `adapter` that is not one, and for each fault that one found in its settings
 */
export async function checkAdapters(
  { providers }: Pick<Settings, 'providers'>,
  warn: (line: string) => void,
  times = TIMES,
): Promise<void> {
  const own = [...providers.values()].filter(({ adapter }) => !ADAPTERS.has(adapter));
  const faults = (await Promise.all(own.map((provider) => faultsOf(provider, warn, times)))).flat();
  if (faults.length > 0) throw new InvalidSettings(faults);
}

async function faultsOf(
  provider: ProviderSettings,
  warn: (line: string) => void,
  times: typeof TIMES,
): Promise<readonly string[]> {
  const variable = provider.variables.adapter;
  const was = `${variable}: was ${JSON.stringify(provider.adapter)}, which`;
  let adapter: ProviderAdapter;
  try {
    adapter = await within(times.load, loadAdapter(provider.adapter));
  } catch (error) {
    return [`${was} ${oneLine(error, provider)}; accepted: ${ADAPTER_ACCEPTS}`];
  }
  const { refused, warned } = await checkAdapter(adapter, provider, times.check);
  for (const line of warned) {
    warn(`Provider ${provider.name} could not be checked (${line}): the service starts all the same.`);
  }
  return refused.map(({ setting, line }) =>
    setting === undefined
      ? `${was} refuses its settings (${line}); accepted: settings that it takes`
      : `${siblingVariable(variable, setting)}: is refused by the adapter of ${provider.name} (${line}); accepted: what it takes`,
  );
}
