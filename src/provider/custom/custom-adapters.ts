import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ADAPTER_ACCEPTS, ADAPTERS } from '../../platform/config/providers/provider-keys.js';
import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import { errorLine, InvalidSettings } from '../../platform/config/settings/invalid-settings.js';
import type { ProviderSettings, Settings } from '../../platform/config/settings/settings.js';
import { oneLine } from '../errors/log-line.js';
import type { ProviderAdapter } from '../provider-adapter.js';
import { within } from '../transport/provider-http.js';

const TIMES = { load: 30_000, check: 5000 }; // milliseconds (docs/security.md#providers)

const MAX_LINES = 20;

/**
 * Loads and checks integrators' adapters before anything is started (docs/provider-adapter.md).
 * @param warn receives a line for each provider that could not be checked
 * @throws InvalidSettings with a line for each file that is no adapter, and each setting that one rejects
 */
export async function checkAdapters(
  { providers }: Pick<Settings, 'providers'>,
  warn: (line: string) => void,
  times = TIMES,
): Promise<void> {
  const custom = [...providers.values()].filter(({ adapter }) => !ADAPTERS.has(adapter));
  const errors = await Promise.all(custom.map((provider) => errorsOf(provider, warn, times)));
  if (errors.flat().length > 0) throw new InvalidSettings(errors.flat());
}

async function errorsOf(
  provider: ProviderSettings,
  warn: (line: string) => void,
  times: typeof TIMES,
): Promise<readonly string[]> {
  const variable = provider.variables.adapter;
  const value = JSON.stringify(provider.adapter);
  let adapter: ProviderAdapter;
  try {
    adapter = await within(times.load, () => loadAdapter(provider.adapter));
  } catch (error) {
    return [errorLine(variable, oneLine(error, provider), ADAPTER_ACCEPTS, value)];
  }
  const findings = await checkAdapter(adapter, provider, times.check);
  return findings.flatMap(({ line, isRefusal, setting }) => {
    if (!isRefusal) {
      warn(`Provider ${provider.name} could not be checked (${line}): the service starts all the same.`);
      return [];
    }
    if (setting !== undefined) {
      const problem = `is refused by the adapter of ${provider.name} (${line})`;
      return errorLine(siblingVariable(variable, setting), problem, 'a value that the adapter accepts');
    }
    const use = 'settings that the adapter accepts';
    return errorLine(variable, `refuses the settings (${line})`, use, value);
  });
}

interface AdapterFinding {
  readonly line: string;
  /** Whether it prevents the start. */
  readonly isRefusal: boolean;
  /** Key of the setting, if the adapter names one. */
  readonly setting: string | undefined;
}

/** Returns the errors of the adapter's `check` (or of its `AggregateError`), refusals first. Never throws. */
export async function checkAdapter(
  adapter: ProviderAdapter,
  provider: ProviderSettings,
  milliseconds: number,
  lineOf: (error: unknown) => string = (error) => oneLine(error, provider),
): Promise<AdapterFinding[]> {
  try {
    await within(milliseconds, async () => adapter.check?.(provider));
    return [];
  } catch (thrown) {
    const { errors } = (thrown ?? {}) as { errors?: unknown };
    const all: unknown[] = Array.isArray(errors) && errors.length > 0 ? errors : [thrown];
    const findings = all.slice(0, MAX_LINES).map((error) => {
      const { error: code, setting } = (error ?? {}) as { error?: unknown; setting?: unknown };
      const isKey = typeof setting === 'string' && /^[a-z0-9_]{1,63}$/.test(setting);
      return {
        line: lineOf(error),
        isRefusal: code === 'invalid_request' || code === 'invalid_client',
        setting: isKey ? setting : undefined,
      };
    });
    return findings.toSorted((a, b) => Number(b.isRefusal) - Number(a.isRefusal));
  }
}

/**
 * Loads an integrator's adapter: the default export of a package, or of a file by its absolute path.
 * @throws an error; its message completes "The adapter …"
 */
export async function loadAdapter(name: string): Promise<ProviderAdapter> {
  const adapter = await importDefault(isAbsolute(name) ? pathToFileURL(name).href : name);
  const members = (typeof adapter === 'object' && adapter !== null ? adapter : {}) as Record<string, unknown>;
  const missing = ['authorizationUrl', 'exchange'].filter((method) => typeof members[method] !== 'function');
  if (missing.length > 0) {
    const methods = missing.map((method) => `${method}()`).join(' and no ');
    throw new Error(`is not an adapter: its default export has no ${methods}`);
  }
  const { issuer, check } = members;
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
