import type { ProviderSettings } from '../providers/provider-settings.js';
import type { SecretFile } from '../providers/provider-settings.js';
import type { SecretKey } from '../secrets/secret-key.js';
import type { ServiceKey } from '../secrets/service-key.js';
import type { Setting } from './setting-row.js';
import type { settingsTable } from './settings-table.js';

export type { ProviderSettings };

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
