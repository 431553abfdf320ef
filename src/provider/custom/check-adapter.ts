import type { ProviderSettings } from '../../config/settings/settings.js';
import type { ProviderAdapter } from '../provider-adapter.js';

/** Milliseconds in which an adapter's `check` must answer (contract §6). */
export const CHECK_MS = 5000;

/** So many faults of one provider are told. */
const MOST_LINES = 20;
/** Characters of a secret that is masked anywhere in a text. */
const SHORTEST_MASKED = 8;

export interface CheckResult {
  /** The settings cannot work: a line each. */
  readonly refused: readonly Fault[];
  /** What else it said, or why it said nothing. */
  readonly warned: readonly string[];
}

interface Fault {
  /** The key of the settings that is at fault, where the adapter names one. */
  readonly setting?: string;
  readonly line: string;
}

/**
 * Lets an adapter look at its settings, within the time that it has. Whatever it throws ends here: several errors in one
 * (`AggregateError`) are a line each. No line holds the client secret, or a control character.
 */
export async function checkAdapter(
  adapter: ProviderAdapter,
  provider: ProviderSettings,
  milliseconds = CHECK_MS,
  lineOf: (error: unknown, settings: ProviderSettings) => string = oneLine,
): Promise<CheckResult> {
  try {
    await within(
      milliseconds,
      Promise.resolve(provider).then((settings) => adapter.check?.(settings)),
    );
    return { refused: [], warned: [] };
  } catch (thrown) {
    const errors = errorsIn(thrown).slice(0, MOST_LINES);
    const refused = errors.filter(isRefusal).map((error) => faultIn(error, lineOf(error, provider)));
    const warned = errors.filter((error) => !isRefusal(error)).map((error) => lineOf(error, provider));
    return { refused, warned };
  }
}

/** @throws when it took too long */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`was not done within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** What an error says, on one line of bounded length, without control characters for a terminal and without the secret. */
export function oneLine(error: unknown, { clientSecret }: Pick<ProviderSettings, 'clientSecret'>): string {
  const { message } = (error ?? {}) as { message?: unknown };
  const [line = ''] = (typeof message === 'string' ? message.slice(0, 10_000) : 'unknown error').split('\n');
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  const printable = masked(line, clientSecret).replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
  return printable.slice(0, 400);
}

/** Short secrets are masked only as a whole word: elsewhere they would mask letters of the message ("cannot ***e loaded"). */
export function masked(line: string, secret: string): string {
  if (secret === '') return line;
  if (secret.length >= SHORTEST_MASKED) return line.replaceAll(secret, '***');
  const pattern = secret.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return line.replace(new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'gu'), '***');
}

function errorsIn(thrown: unknown): readonly unknown[] {
  const { errors } = (thrown ?? {}) as { errors?: unknown };
  return Array.isArray(errors) && errors.length > 0 ? errors : [thrown];
}

/** These codes say, as at `exchange`, that the settings are wrong; any other error, that the provider could not be asked. */
function isRefusal(error: unknown): boolean {
  const code = (error as { error?: unknown } | null | undefined)?.error;
  return code === 'invalid_request' || code === 'invalid_client';
}

function faultIn(error: unknown, line: string): Fault {
  const { setting } = error as { setting?: unknown };
  return typeof setting === 'string' && /^[a-z0-9_]{1,63}$/.test(setting) ? { setting, line } : { line };
}
