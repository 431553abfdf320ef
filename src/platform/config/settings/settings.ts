import type { DynamicModule } from '@nestjs/common';
import { ConfigModule, getConfigToken, registerAs } from '@nestjs/config';
import type { ProviderMode, ProviderSettings, SecretFile } from '../providers/provider-settings.js';
import type { SecretKey } from '../secrets/secret-key.js';
import type { ServiceKey } from '../secrets/service-key.js';
import type { SettingValues } from './setting-row.js';
import type { settingsTable } from './settings-table.js';

export type { ProviderMode, ProviderSettings, SecretFile };

export type Values = SettingValues<typeof settingsTable>;

/** Rows of the tables by key, some with another type, and the providers. Features add theirs here. */
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
  /** Callbacks of the service's own pages, which are always allowed. */
  readonly ownRedirectUris: readonly OwnRedirectUri[];
  readonly traces: boolean;
  /** One sentence each, for the log at start; no secrets. */
  readonly warnings: readonly string[];
}

export interface OwnRedirectUri {
  readonly uri: string;
  /** Whether providers must know it. */
  readonly isRegistered: boolean;
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
