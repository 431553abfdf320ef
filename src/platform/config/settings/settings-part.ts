import type { ProviderSource } from '../providers/provider-source.js';
import { adapterKeys, providerKeys, type ProviderRow } from '../providers/provider-keys.js';
import type { ProviderSettings } from '../providers/provider-settings.js';
import type { Setting } from './setting-row.js';
import type { OwnRedirectUri, Settings } from './settings.js';
import { settingsTable } from './settings-table.js';
import { eventNames } from './signed-calls.js';

/**
 * What a feature adds to the settings. It also adds the types, by `declare module`, to `Settings` and
 * `ProviderSettings`, so that they go with its folder.
 */
export interface SettingsPart {
  /** By key (`settings.<key>`), made by `settingRows`. */
  readonly settings?: Readonly<Record<string, Setting<unknown>>>;
  /** Keys of every provider (`providers.<name>.<key>`). */
  readonly providerKeys?: Readonly<Record<string, ProviderRow<unknown>>>;
  /** Reads these keys, and refuses what does not fit together. */
  ofProvider?(source: ProviderSource): Partial<ProviderSettings>;
  /** Refuses what does not fit together in several enabled providers. */
  checkProviders?(sources: readonly ProviderSource[]): void;
  readonly builtInProvider?: BuiltInProvider;
  /** Sentences for the log at start; no secrets. @param providers names of all that have keys */
  warnings?(settings: Settings, providers: ReadonlySet<string>): readonly string[];
  /** Callbacks of the feature's own pages, which are always allowed. */
  redirectUris?(settings: Settings): readonly OwnRedirectUri[];
}

/**
 * A provider that the service serves itself: on outside production, and in production if it is enabled by
 * name. With a `url`, the name is that of a provider like any other.
 */
export interface BuiltInProvider {
  readonly name: string;
  /** Keys of this provider alone. */
  readonly keys: Readonly<Record<string, ProviderRow<unknown>>>;
  /** Options, unless they are set. */
  readonly options: Readonly<Record<string, string>>;
  /** Reads these keys. */
  read(source: ProviderSource): Partial<ProviderSettings>;
  /** Completes what was read, once all other settings are known. */
  complete(
    read: Omit<ProviderSettings, 'url' | 'clientId' | 'clientSecret'>,
    settings: Omit<Settings, 'providers' | 'ownRedirectUris' | 'warnings'>,
  ): ProviderSettings;
}

/** All rows of the core and of the parts. */
export class SettingTables {
  readonly settings: Readonly<Record<string, Setting<unknown>>>;
  /** Keys that the service reads itself; all others are options of the adapter. */
  readonly ownKeys: Readonly<Record<string, ProviderRow<unknown>>>;
  /** Variables of all settings, without providers. */
  readonly variables: readonly string[];
  /** Keys of providers with secrets. */
  readonly providerSecrets: readonly string[];

  /** @param auditNames of all events; by default, any name is one */
  constructor(
    readonly parts: readonly SettingsPart[],
    auditNames?: readonly string[],
  ) {
    const { webhookEvents } = settingsTable;
    const core = {
      ...settingsTable,
      ...(auditNames && { webhookEvents: { ...webhookEvents, parser: eventNames(auditNames) } }),
    };
    this.settings = Object.assign(core, ...parts.map(({ settings }) => settings));
    this.ownKeys = Object.assign({ ...providerKeys }, ...parts.map((part) => part.providerKeys));
    this.variables = Object.values(this.settings).flatMap(({ name, secret }) =>
      secret ? [name, `${name}_FILE`] : [name],
    );
    this.providerSecrets = Object.entries(this.ownKeys).flatMap(([key, { secret }]) => (secret ? key : []));
  }

  get providerKeys(): Readonly<Record<string, ProviderRow<unknown>>> {
    return { ...this.ownKeys, ...adapterKeys };
  }

  builtIn(name: string): BuiltInProvider | undefined {
    return this.parts.find(({ builtInProvider }) => builtInProvider?.name === name)?.builtInProvider;
  }
}
