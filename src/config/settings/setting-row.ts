import { isQuoted, NOT_SHOWN, quote } from './invalid-settings.js';
import type { SettingErrors } from './invalid-settings.js';
import { Refused } from './parsers.js';
import type { Parser } from './parsers.js';

/** The environment, or any plain object like it. An empty value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One setting: everything that the parser and the documents need of it. */
export interface Setting<T> {
  readonly name: string;
  readonly parser: Parser<T>;
  /** The text as an operator would write it; read by `parser` like any other value. */
  readonly default?: string;
  /** Where it differs in production. */
  readonly productionDefault?: string;
  /** Words for the documents where the default is not a fixed text. */
  readonly defaultShown?: string;
  /** Never printed, and `<NAME>_FILE` is accepted. */
  readonly secret?: boolean;
  /** A sentence or two of documentation. */
  readonly doc: string;
}

/**
 * The value of one setting, or `undefined` where it is unset or at error (which `errors` then knows).
 *
 * @param variable its name in the environment, for the error
 */
export function read<T>(
  setting: Pick<Setting<T>, 'parser' | 'secret'>,
  variable: string,
  text: string | undefined,
  errors: SettingErrors,
): T | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return setting.parser.parse(text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const secret = isQuoted(text) ? `${NOT_SHOWN} that begins and ends with a quotation mark` : NOT_SHOWN;
    const was = error.was ?? (setting.secret ? secret : quote(error.part));
    errors.add(variable, was, setting.parser.accepts);
    return undefined;
  }
}
