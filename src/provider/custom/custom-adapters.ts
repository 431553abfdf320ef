import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InvalidSettings } from '../../config/settings/invalid-settings.js';
import { siblingVariable } from '../../config/providers/provider-variables.js';
import type { ProviderSettings, Settings } from '../../config/settings/settings.js';
import { CHECK_MS, checkAdapter, oneLine, within } from './check-adapter.js';
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

/**
 * Loads an integrator's adapter (contract §2, `adapter`): the default export of a package, or of a file.
 *
 * @param name of the package, or the absolute path of the file
 * @throws an error whose message says on one line what is wrong with it
 */
export async function loadAdapter(name: string): Promise<ProviderAdapter> {
  const adapter = await importDefault(isAbsolute(name) ? pathToFileURL(name).href : name);
  const missing = ['authorizationUrl', 'exchange'].filter((method) => !hasMethod(adapter, method));
  if (missing.length > 0) {
    throw new Error(
      `is not an adapter: its default export has no ${missing.map((m) => `${m}()`).join(' and no ')}`,
    );
  }
  const { issuer, check } = adapter as Record<string, unknown>;
  if (issuer !== undefined && issuer !== 'own' && typeof issuer !== 'function') {
    throw new Error("is not an adapter: its issuer is neither a function nor 'own'");
  }
  if (check !== undefined && typeof check !== 'function') {
    throw new Error('is not an adapter: its check is not a function');
  }
  return adapter as ProviderAdapter;
}

async function importDefault(specifier: string): Promise<unknown> {
  try {
    return ((await import(specifier)) as { default?: unknown }).default;
  } catch (error) {
    const { message = 'unknown error' } = (error ?? {}) as { message?: string };
    throw new Error(`cannot be loaded (${message.split('\n')[0]})`, { cause: error });
  }
}

/** Looks at inherited methods too: an adapter may be an instance of a class. */
function hasMethod(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === 'function'
  );
}
