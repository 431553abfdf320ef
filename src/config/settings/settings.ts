import type { SecretKey } from '../secrets/secret-key.js';
import type { ServiceKey } from '../secrets/service-key.js';
import type { Parser } from './parsers.js';
import type { Setting } from './setting-row.js';
import type { settingsTable } from './settings-table.js';

type Table = typeof settingsTable;
type Value<Row> =
  Row extends Setting<infer T> ? (Row extends { readonly default: string } ? T : T | undefined) : never;

/** The value of each row of the table; `undefined` where it is unset and has no default. */
export type Values = { readonly [Key in keyof Table]: Value<Table[Key]> };

/**
 * What every part of the service may read of its configuration; parsed and checked once, at start. Each row of the table is
 * here under its key. Listed below are those whose value or type differs from the row, and the providers.
 */
export interface Settings extends Omit<Values, 'nodeEnv'> {
  readonly production: boolean;
  /** `{base_url}` as clients see it, an origin; issuer and audience of the tokens. */
  readonly publicUrl: string;
  /** The way around a pooler: `databaseUrl`, unless it was set. Undefined where that is. */
  readonly databaseDirectUrl: string | undefined;
  /** Absolute path. */
  readonly dataDir: string;
  readonly secretKey: SecretKey;
  readonly serviceKeys: readonly ServiceKey[];
  /** By the variable of the secret (`DATABASE_URL`), which is above as it was at the start; see current-secret.ts. */
  readonly secretFiles: ReadonlyMap<string, SecretFile>;
  /** Those that are enabled, without the built-in one. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Present while the built-in provider `mock` is served by this service. */
  readonly sampleProvider?: SampleProviderSettings;
  /** Whether OpenTelemetry's variables ask for traces. */
  readonly traces: boolean;
  /** One sentence each, for the log at start; no secrets. */
  readonly warnings: readonly string[];
}

/** The file of a secret. */
export interface SecretFile {
  /** Absolute. */
  readonly path: string;
  /** The variable that names it, as it was spelled. */
  readonly variable: string;
}

/** How an application shows the provider's page. */
export type ProviderMode = 'iframe' | 'popup' | 'redirect';

/** One `providers.<name>.*` (spec §4.6). Only enabled providers are listed. */
export interface ProviderSettings {
  readonly name: string;
  /** As it was set. Where that is a preset, adapters see the name of the preset's adapter (provider/presets.ts). */
  readonly adapter: string;
  /** `{provider_url}` as the user's browser reaches it, without a trailing slash; not every adapter needs it. */
  readonly url?: string;
  /** `{provider_url}` as the service itself reaches it, where that differs (the built-in `mock`). */
  readonly internalUrl?: string;
  readonly clientId: string;
  /** Adapters are given the one that holds now (provider/provider.ts). */
  readonly clientSecret: string;
  /** Where it may be replaced while the service runs, and what is accepted then. */
  readonly clientSecretFile?: SecretFile & { readonly parser: Parser<string> };
  /** The provider's own allow-list; overrides `Settings.redirectUris`. */
  readonly redirectUris?: readonly string[];
  /** What `iss` in the callback must be, where the adapter does not know it (RFC 9207). */
  readonly issuer?: string;
  /** How an application should show its page; left out where that follows from the adapter (provider/listed-provider.ts). */
  readonly mode?: ProviderMode;
  /** Its name for people; left out where its own name is as good. */
  readonly label?: string;
  /** The names of the variables that messages mention, in the spelling that was used. */
  readonly variables: { readonly adapter: string; readonly issuer: string };
  /** Every other key of the provider, handed to its adapter as it is. */
  readonly options: Readonly<Record<string, string>>;
}

/** What was set for the built-in provider; the rest follows from other settings (provider/sample-provider.ts). */
export interface SampleProviderSettings {
  /** Unset: the demo accounts. */
  readonly accountsFile?: AccountsFile;
  readonly provider: Pick<
    ProviderSettings,
    'redirectUris' | 'issuer' | 'mode' | 'label' | 'variables' | 'options'
  >;
}

export interface AccountsFile {
  /** Absolute. */
  readonly path: string;
  /** The variable that names the file, as it was spelled. */
  readonly variable: string;
}
