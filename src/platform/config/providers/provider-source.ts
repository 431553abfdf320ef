import { NOT_SHOWN, quote, type SettingErrors } from '../settings/invalid-settings.js';
import { read, type SettingRow } from '../settings/setting-row.js';
import type { Settings } from '../settings/settings.js';
import { protocolOf } from './presets.js';
import { providerKeys } from './provider-keys.js';
import type { ProviderVariables } from './provider-variables.js';

type Value<Row> = Row extends SettingRow<infer T> ? T : never;

interface Surroundings {
  readonly production: boolean;
  /** Relative paths begin here. */
  readonly cwd: string;
  readonly secretFiles: Settings['secretFiles'];
}

/** The variables of one provider, and the errors in them. */
export class ProviderSource {
  constructor(
    readonly name: string,
    readonly variables: ProviderVariables,
    readonly surroundings: Surroundings,
    private readonly errors: SettingErrors,
  ) {}

  /** As it was set. */
  get adapter(): string {
    return this.text('adapter') ?? providerKeys.adapter.default;
  }

  get isOpenId(): boolean {
    return protocolOf(this.adapter) === 'oidc';
  }

  has(key: string): boolean {
    return this.variables.has(key);
  }

  /** Returns a value as it was set. */
  text(key: string): string | undefined {
    return this.variables.get(key)?.text;
  }

  /** @returns undefined if the key is unset or invalid, which is an error */
  read<Rows extends Readonly<Record<string, SettingRow<unknown>>>, Key extends keyof Rows & string>(
    rows: Rows,
    key: Key,
  ): Value<Rows[Key]> | undefined {
    const value = read(rows[key]!, this.variableOf(key), this.text(key), this.errors);
    return value as Value<Rows[Key]> | undefined;
  }

  /** Returns the variable of a key for messages; of an unset key, as the provider's others are spelled. */
  variableOf(key: string): string {
    const own = this.variables.get(key);
    if (own) return own.variable;
    const dotted = [...this.variables.values()].some(({ variable }) => variable.startsWith('providers.'));
    return dotted ? `providers.${this.name}.${key}` : `PROVIDERS_${this.name}_${key}`.toUpperCase();
  }

  /** @param value `secret` is not shown */
  refuse(key: string, problem: string, use: string, value?: string | { readonly secret: true }): void {
    const shown = typeof value === 'object' ? NOT_SHOWN : value === undefined ? undefined : quote(value);
    this.errors.add(this.variableOf(key), problem, use, shown);
  }

  refuseUnset(key: string, use: string): void {
    this.refuse(key, 'is not set', use);
  }

  /** Reads a key with another name than its row has. */
  check(row: SettingRow<unknown>, key: string): void {
    read(row, this.variableOf(key), this.text(key), this.errors);
  }
}
