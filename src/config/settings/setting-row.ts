import { isQuoted, NOT_SHOWN, quote, type SettingErrors } from './invalid-settings.js';
import { InvalidValue, type Parser } from './parsers.js';

/** The environment, or any plain object like it. An empty value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingRow<T> {
  readonly parser: Parser<T>;
  /** As an operator would write it. */
  readonly default?: string;
  readonly productionDefault?: string;
  /** Words for the documents if the default is not a fixed text. */
  readonly defaultShown?: string;
  /** Never printed, and `<NAME>_FILE` is accepted. */
  readonly secret?: boolean;
  readonly doc: string;
}

export interface Setting<T> extends SettingRow<T> {
  readonly name: string;
}

/** Parses one setting. @returns undefined if it is unset or invalid, which is added to `errors` */
export function read<T>(
  setting: Pick<SettingRow<T>, 'parser' | 'secret'>,
  variable: string,
  text: string | undefined,
  errors: SettingErrors,
): T | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return setting.parser.parse(text);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const quoted =
      setting.secret && isQuoted(text) ? 'is invalid: it begins and ends with a quotation mark' : undefined;
    const problem = error.problem ?? quoted ?? 'is invalid';
    errors.add(variable, problem, setting.parser.accepts, setting.secret ? NOT_SHOWN : quote(error.part));
    return undefined;
  }
}
