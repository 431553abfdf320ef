import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { Faults } from './invalid-settings.js';
import type { KeptSecretKey } from './kept-secret-key.js';
import { parseProviders } from './parse-providers.js';
import { applyProductionRules } from './production-rules.js';
import { providerVariables } from './provider-variables.js';
import { readValues } from './read-values.js';
import type { Values } from './read-values.js';
import { SecretKey } from './secret-key.js';
import type { Environment } from './setting.js';
import type { Settings } from './settings.js';
import { warningsFor } from './warnings.js';

/** What the parser takes from outside; each part can be replaced. */
export interface Surroundings {
  /** Relative paths begin here. */
  readonly cwd?: string;
  /** The key to use where `SECRET_KEY` is unset outside production; by default a new one, kept nowhere. */
  readonly keptSecretKey?: (dataDir: string) => KeptSecretKey;
  /** Faults that are known already. */
  readonly faults?: Faults;
}

/**
 * Settings from an environment, without reading any file: no `.env`, no `<NAME>_FILE`.
 *
 * @param env e.g. `{ PORT: '4000' }`; what is left out or empty has its default
 * @throws InvalidSettings with all faults
 */
export function parseSettings(env: Environment, surroundings: Surroundings = {}): Settings {
  const { cwd = process.cwd(), keptSecretKey = newSecretKey, faults = new Faults() } = surroundings;
  const values = readValues(env, faults);
  const production = values.nodeEnv === 'production';
  const given = providerVariables(env, faults);
  const providers = parseProviders(given, production, cwd, faults);
  if (production) applyProductionRules(values, env, faults);
  faults.check(); // before a key is generated: a refused start leaves nothing behind

  const dataDir = resolve(cwd, values.dataDir);
  const kept: KeptSecretKey = values.secretKey ? { key: values.secretKey } : keptSecretKey(dataDir);
  return {
    ...generalSettings(values),
    production,
    dataDir,
    secretKey: kept.key,
    ...providers,
    warnings: warningsFor(env, values, given, kept.created),
  };
}

type General = Omit<
  Settings,
  'production' | 'dataDir' | 'secretKey' | 'providers' | 'sampleProvider' | 'warnings'
>;

function generalSettings(values: Values): General {
  return {
    host: values.host,
    port: values.port,
    publicUrl: values.publicUrl ?? `http://localhost:${values.port}`,
    databasePoolSize: values.databasePoolSize,
    serviceKeys: values.serviceKeys ?? [],
    accessTokenTtl: values.accessTokenTtl,
    refreshTokenTtl: values.refreshTokenTtl,
    stateTtl: values.stateTtl,
    rateLimit: {
      enabled: values.rateLimit,
      authorize: values.rateLimitAuthorize,
      token: values.rateLimitToken,
      refresh: values.rateLimitRefresh,
      badToken: values.rateLimitBadToken,
      connect: values.rateLimitConnect,
      write: values.rateLimitWrite,
    },
    channelHistory: values.channelHistory,
    shutdownDelay: values.shutdownDelay,
    demoEnabled: values.demoEnabled,
    logLevel: values.logLevel,
    ...(values.databaseUrl !== undefined && { databaseUrl: values.databaseUrl }),
    ...(values.redisUrl !== undefined && { redisUrl: values.redisUrl }),
    ...(values.redirectUris !== undefined && { redirectUris: values.redirectUris }),
    ...(values.corsOrigins !== undefined && { corsOrigins: values.corsOrigins }),
    ...(values.trustProxy !== undefined && { trustProxy: values.trustProxy }),
  };
}

function newSecretKey(): KeptSecretKey {
  return { key: new SecretKey(randomBytes(32)) };
}
