import type { DynamicModule } from '@nestjs/common';
import { ConfigModule, getConfigToken, registerAs } from '@nestjs/config';
import type { ProviderMode, ProviderSettings, SecretFile } from '../providers/provider-settings.js';
import type { SecretKey } from '../secrets/secret-key.js';
import type { ServiceKey } from '../secrets/service-key.js';
import type { Setting } from './setting-row.js';
import type { settingsTable } from './settings-table.js';

export type { ProviderMode, ProviderSettings, SecretFile };

type Table = typeof settingsTable;
type Value<Row> =
  Row extends Setting<infer T> ? (Row extends { readonly default: string } ? T : T | undefined) : never;

/** The value of each row of the table; `undefined` if it is unset and has no default. */
export type Values = { readonly [Key in keyof Table]: Value<Table[Key]> };

/**
 * The settings of the service: the rows of the table by key, some of them with another type, and the
 * providers.
 */
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
  /** Outside production without SERVICE_KEYS: the key in `DATA_DIR`, which the start prints. */
  readonly generatedServiceKey: string | undefined;
  /** By the variable of the secret (`DATABASE_URL`); see current-secret.ts. */
  readonly secretFiles: ReadonlyMap<string, SecretFile>;
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Present while the built-in provider `mock` is served by this service. */
  readonly sampleProvider?: SampleProviderSettings;
  readonly traces: boolean;
  /** One sentence each, for the log at start; no secrets. */
  readonly warnings: readonly string[];
}

/**
 * What was set for the built-in provider; the rest follows from other settings (provider/sample-provider.ts).
 */
export interface SampleProviderSettings {
  /** With hashes of passwords. Unset: the demo accounts. */
  readonly accountsFile?: SecretFile;
  readonly provider: Pick<
    ProviderSettings,
    | 'redirectUris'
    | 'issuer'
    | 'authTime'
    | 'mode'
    | 'label'
    | 'allow'
    | 'emailDomains'
    | 'emailTrusted'
    | 'scim'
    | 'directoryClaim'
    | 'keeps'
    | 'variables'
    | 'options'
  >;
}

const NAME = 'settings';

/** `@Inject(SETTINGS) private readonly settings: Settings` */
export const SETTINGS = getConfigToken(NAME);

/** Provides the loaded settings to every module; neither `.env` nor the environment is read again. */
export function settingsModule(settings: Settings): Promise<DynamicModule> {
  return ConfigModule.forRoot({
    isGlobal: true,
    ignoreEnvFile: true,
    ignoreEnvVars: true,
    skipProcessEnv: true,
    load: [registerAs(NAME, () => settings)],
  });
}
