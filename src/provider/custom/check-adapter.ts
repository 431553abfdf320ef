import type { ProviderSettings } from '../../config/settings/settings.js';
import { within } from '../deadline.js';
import { oneLine } from '../log-line.js';
import type { ProviderAdapter } from '../provider-adapter.js';

/** Milliseconds for an adapter's `check` (contract §6). */
export const CHECK_MS = 5000;

/** Errors of one provider that are reported. */
const MAX_LINES = 20;

export interface CheckResult {
  /** Errors that prevent the start. */
  readonly refused: readonly Refusal[];
  readonly warned: readonly string[];
}

interface Refusal {
  /** Key of the setting, if the adapter names one. */
  readonly setting?: string;
  readonly line: string;
}

/** Calls the adapter's `check`, and sorts the errors that it throws. An `AggregateError` contains several. Never throws. */
export async function checkAdapter(
  adapter: ProviderAdapter,
  provider: ProviderSettings,
  milliseconds = CHECK_MS,
  lineOf: (error: unknown, settings: ProviderSettings) => string = oneLine,
): Promise<CheckResult> {
  const refused: Refusal[] = [];
  const warned: string[] = [];
  try {
    await within(milliseconds, async () => adapter.check?.(provider));
  } catch (thrown) {
    for (const error of errorsIn(thrown).slice(0, MAX_LINES)) {
      const { error: code, setting } = (error ?? {}) as { error?: unknown; setting?: unknown };
      const line = lineOf(error, provider);
      if (code !== 'invalid_request' && code !== 'invalid_client') warned.push(line);
      else refused.push({ line, ...(isSetting(setting) && { setting }) });
    }
  }
  return { refused, warned };
}

function errorsIn(thrown: unknown): readonly unknown[] {
  const { errors } = (thrown ?? {}) as { errors?: unknown };
  return Array.isArray(errors) && errors.length > 0 ? errors : [thrown];
}

function isSetting(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z0-9_]{1,63}$/.test(value);
}
