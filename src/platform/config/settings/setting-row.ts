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

/** A row of the service's own settings. */
export interface ServiceRow<T> extends SettingRow<T> {
  /** Heading of this row and of the next ones in the documents. */
  readonly section?: string;
  /** Variable without which this one is refused. */
  readonly needs?: string;
  /** The service calls it: in production an address on the Internet, unless WEBHOOK_PRIVATE is set. */
  readonly isCalled?: true;
}

export interface Setting<T> extends ServiceRow<T> {
  readonly name: string;
}

type Value<Row> =
  Row extends Setting<infer T> ? (Row extends { readonly default: string } ? T : T | undefined) : never;

/** The value of each row by key; `undefined` if it is unset and has no default. */
export type SettingValues<Table> = { readonly [Key in keyof Table]: Value<Table[Key]> };

/** Adds the variables of the settings: DATABASE_URL for `databaseUrl`. */
export function settingRows<Rows extends Record<string, ServiceRow<unknown>>>(rows: Rows) {
  const entries = Object.entries(rows).map(([key, row]) => {
    const name = key.replaceAll(/[A-Z]/g, '_$&').toUpperCase();
    return [key, { ...row, name }] as const;
  });
  return Object.fromEntries(entries) as {
    readonly [Key in keyof Rows]: Rows[Key] & { readonly name: string };
  };
}

/** Parses one setting. @returns undefined if it is unset or invalid, which is added to `errors` */
export function read<T>(
  setting: Pick<SettingRow<T>, 'parser' | 'secret'>,
  variable: string,
  text: string | undefined,
  errors: SettingErrors,
): T | undefined {
  if (text === undefined || text === '') return undefined;
  const value = setting.secret ? (textOfSecret(text) ?? text) : text;
  try {
    return setting.parser.parse(value);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const problem = error.problem ?? (setting.secret ? problemOf(value) : undefined) ?? 'is invalid';
    errors.add(variable, problem, setting.parser.accepts, setting.secret ? NOT_SHOWN : quote(error.part));
    return undefined;
  }
}

/** Removes line breaks that files and tools put at the end of a secret. @returns undefined if blank */
export function textOfSecret(content: string): string | undefined {
  let end = content.length;
  // /[\r\n]+$/ takes seconds for breaks inside
  while (content[end - 1] === '\n' || content[end - 1] === '\r') end--;
  const text = content.slice(0, end);
  return text.trim() === '' ? undefined : text;
}

/** Says what a secret shows at first sight, since it is not printed. */
function problemOf(secret: string): string | undefined {
  if (isQuoted(secret)) return 'is invalid: it begins and ends with a quotation mark';
  if (/[\r\n]/.test(secret)) return 'is invalid: it has a line break inside';
  return secret.trim() === secret ? undefined : 'is invalid: it begins or ends with a blank';
}
