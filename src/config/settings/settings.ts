import type { SecretKey } from '../secrets/secret-key.js';
import type { ServiceKey } from '../secrets/service-key.js';
import type { Parser } from './parsers.js';
import type { Setting } from './setting-row.js';
import type { settingsTable } from './settings-table.js';

type Table = typeof settingsTable;
type Value<Row> =
  Row extends Setting<infer T> ? (Row extends { readonly default: string } ? T : T | undefined) : never;

/** The value of each row of the table; `undefined` if it is unset and has no default. */
export type Values = { readonly [Key in keyof Table]: Value<Table[Key]> };

/** The settings of the service: the rows of the table by key, some of them with another type, and the providers. */
export interface Settings extends Omit<Values, 'nodeEnv'> {
  readonly production: boolean;
  /** `{base_url}` as clients see it, an origin; issuer and audience of the tokens. */
  readonly publicUrl: string;
  /** Bypasses a pooler; by default `databaseUrl`. */
  readonly databaseDirectUrl: string | undefined;
  /** Absolute path. */
  readonly dataDir: string;
  readonly secretKey: SecretKey;
  readonly serviceKeys: readonly ServiceKey[];
  /** Outside production without SERVICE_KEYS: the key in `DATA_DIR`, which the start prints (contract §2). */
  readonly generatedServiceKey: string | undefined;
  /** By the variable of the secret (`DATABASE_URL`); see current-secret.ts. */
  readonly secretFiles: ReadonlyMap<string, SecretFile>;
  /** The enabled providers, without the built-in one. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Present while the built-in provider `mock` is served by this service. */
  readonly sampleProvider?: SampleProviderSettings;
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
  /** As it was set; an adapter sees the name of the preset's adapter (provider/presets.ts). */
  readonly adapter: string;
  /** `{provider_url}` for the browser, without a trailing slash; not every adapter needs it. */
  readonly url?: string;
  /** `{provider_url}` for the service, if it differs (the built-in `mock`). */
  readonly internalUrl?: string;
  readonly clientId: string;
  /** At the start; adapters receive the current one (provider/provider.ts). */
  readonly clientSecret: string;
  readonly clientSecretFile?: SecretFile & { readonly parser: Parser<string> };
  /** The provider's own allow-list; overrides `Settings.redirectUris`. */
  readonly redirectUris?: readonly string[];
  /** Required `iss` of the callback if the adapter does not know it (RFC 9207). */
  readonly issuer?: string;
  /** Unset: follows from the adapter (provider/listed-provider.ts). */
  readonly mode?: ProviderMode;
  /** Display name. */
  readonly label?: string;
  /** Variables for messages, as they were spelled. */
  readonly variables: { readonly adapter: string; readonly issuer: string };
  /** All other keys, for the adapter. */
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
