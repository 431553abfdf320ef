import { InvalidSettings } from '../config/invalid-settings.js';
import { ADAPTER_ACCEPTS, ADAPTERS } from '../config/provider-adapters.js';
import type { ProviderSettings, Settings } from '../config/settings.js';
import { loadAdapter } from './load-adapter.js';
import type { ProviderAdapter } from './provider-adapter.js';

/** Milliseconds in which an integrator's file must load, and its `check` must answer. */
const TIMES = { load: 30_000, check: 5000 };

/**
 * Loads the adapters of integrators and lets them look at their settings, before anything is started (contract §2, §6).
 * Node.js keeps what it has loaded, so the registry finds the same objects later.
 *
 * @param warn gets a line for each provider that could not be checked; it holds what the adapter said, but no setting
 * @throws InvalidSettings with a line for each `adapter` that is not one, or that refuses its settings
 */
export async function checkAdapters(
  { providers }: Pick<Settings, 'providers'>,
  warn: (line: string) => void,
  times = TIMES,
): Promise<void> {
  const own = [...providers.values()].filter(({ adapter }) => !ADAPTERS.has(adapter));
  const faults = await Promise.all(own.map((provider) => faultOf(provider, warn, times)));
  const found = faults.filter((fault) => fault !== undefined);
  if (found.length > 0) throw new InvalidSettings(found);
}

async function faultOf(
  provider: ProviderSettings,
  warn: (line: string) => void,
  times: typeof TIMES,
): Promise<string | undefined> {
  const was = `${provider.variables.adapter}: was ${JSON.stringify(provider.adapter)}, which`;
  let adapter: ProviderAdapter;
  try {
    adapter = await within(times.load, loadAdapter(provider.adapter));
  } catch (error) {
    return `${was} ${oneLine(error)}; accepted: ${ADAPTER_ACCEPTS}`;
  }
  try {
    await within(
      times.check,
      Promise.resolve(provider).then((settings) => adapter.check?.(settings)),
    );
  } catch (error) {
    if (isRefusal(error))
      return `${was} refuses its settings (${oneLine(error)}); accepted: settings that it takes`;
    warn(
      `Provider ${provider.name} could not be checked (${oneLine(error)}): the service starts all the same.`,
    );
  }
  return undefined;
}

/** These codes say, as at `exchange`, that the settings are wrong; any other error, that the provider could not be asked. */
function isRefusal(error: unknown): boolean {
  const code = (error as { error?: unknown } | null | undefined)?.error;
  return code === 'invalid_request' || code === 'invalid_client';
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`was not done within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** What an error says, on one line of bounded length, without control characters for a terminal. */
function oneLine(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  const [line = ''] = (typeof message === 'string' ? message : 'unknown error').split('\n');
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return line.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').slice(0, 300);
}
