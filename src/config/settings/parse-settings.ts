import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { Faults, quote } from './invalid-settings.js';
import type { KeptSecretKey } from '../secrets/kept-secret-key.js';
import { enabledProviders } from '../providers/enabled-providers.js';
import { providerVariables } from '../providers/provider-variables.js';
import type { SecretFile } from '../providers/provider-settings.js';
import { SecretKey } from '../secrets/secret-key.js';
import { read } from './setting-row.js';
import type { Environment, Setting } from './setting-row.js';
import type { Settings, Values } from './settings.js';
import { settingsTable } from './settings-table.js';
import { wantsTraces } from './traces.js';
import { warningsFor } from './warnings.js';
import { isLoopbackUrl } from '../urls/urls.js';

/** What the parser takes from outside; each part can be replaced. */
export interface Surroundings {
  /** Relative paths begin here. */
  readonly cwd?: string;
  /** The key to use where `SECRET_KEY` is unset outside production; by default a new one, kept nowhere. */
  readonly keptSecretKey?: (dataDir: string) => KeptSecretKey;
  /** Why other accounts can replace what is in `DATA_DIR`; see kept-secret-key.ts. */
  readonly exposureOfDataDir?: (dataDir: string) => string | undefined;
  /** The files that secrets of the environment were read from, by variable. */
  readonly secretFiles?: ReadonlyMap<string, SecretFile>;
  /** Faults that are known already. */
  readonly faults?: Faults;
}

const CLOSED_DIRECTORY =
  'a directory of this account or of root, to which no other account may write (chown, chmod go-w)';

/**
 * Settings from an environment, without reading any file: no `.env`, no `<NAME>_FILE`.
 *
 * @param env e.g. `{ PORT: '4000' }`; settings that are left out or empty have their defaults
 * @throws InvalidSettings with all faults
 */
export function parseSettings(env: Environment, surroundings: Surroundings = {}): Settings {
  const { cwd = process.cwd(), keptSecretKey = newSecretKey, faults = new Faults() } = surroundings;
  const { exposureOfDataDir = () => undefined } = surroundings;
  const { secretFiles = new Map<string, SecretFile>() } = surroundings;
  const values = readValues(env, faults);
  const production = values.nodeEnv === 'production';
  const given = providerVariables(env, faults);
  const providers = enabledProviders(given, { production, cwd, secretFiles }, faults);
  applyDatabaseRules(values, faults);
  applyPortRules(values, faults);
  if (production) applyProductionRules(values, env, faults);
  const dataDir = resolve(cwd, values.dataDir);
  const exposed = values.databaseUrl && values.secretKey ? undefined : exposureOfDataDir(dataDir);
  if (exposed !== undefined && production) {
    faults.add('DATA_DIR', `${quote(dataDir)}, which ${exposed}`, CLOSED_DIRECTORY);
  }
  faults.check(); // before a key is generated: a refused start leaves nothing behind

  const kept: KeptSecretKey = values.secretKey ? { key: values.secretKey } : keptSecretKey(dataDir);
  const { nodeEnv: _, ...asRead } = values;
  return {
    ...asRead,
    production,
    publicUrl: values.publicUrl ?? `http://localhost:${values.port}`,
    databaseDirectUrl: values.databaseDirectUrl ?? values.databaseUrl,
    dataDir,
    secretKey: kept.key,
    serviceKeys: values.serviceKeys ?? [],
    secretFiles,
    ...providers,
    traces: wantsTraces(env),
    warnings: [
      ...(exposed === undefined ? [] : [`DATA_DIR ${exposed}; production accepts ${CLOSED_DIRECTORY}.`]),
      ...(kept.warning === undefined ? [] : [kept.warning]),
      ...warningsFor(env, values, given, kept.created),
    ],
  };
}

/** Reads every setting of the table. One that is at fault gets its default, so that the others can be judged. */
function readValues(env: Environment, faults: Faults): Values {
  const production = env[settingsTable.nodeEnv.name] === 'production';
  const values = Object.entries(settingsTable).map(([key, setting]: [string, Setting<unknown>]) => [
    key,
    read(setting, setting.name, env[setting.name], faults) ?? defaultOf(setting, production),
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each row, of its kind's type
  return Object.fromEntries(values) as Values;
}

function defaultOf(setting: Setting<unknown>, production: boolean): unknown {
  const text = (production ? setting.productionDefault : undefined) ?? setting.default;
  return text === undefined ? undefined : setting.kind.parse(text);
}

function newSecretKey(): KeptSecretKey {
  return { key: new SecretKey(randomBytes(32)) };
}

/** Refuses settings of the database that are good each by itself, but not together (contract §2). */
function applyDatabaseRules(values: Values, faults: Faults): void {
  const { databaseUrl, databaseDirectUrl, databasePooler, redisUrl } = values;
  if (databaseDirectUrl !== undefined && databaseUrl === undefined) {
    faults.add('DATABASE_URL', 'was unset', 'a PostgreSQL URL, as DATABASE_DIRECT_URL is set');
  }
  const wayAround =
    databaseDirectUrl ?? redisUrl ?? ['DATABASE_DIRECT_URL', 'REDIS_URL'].find((name) => faults.has(name));
  if (databasePooler === 'transaction' && wayAround === undefined) {
    const was = 'was "transaction", with neither DATABASE_DIRECT_URL nor REDIS_URL';
    const accepts =
      'one of the two beside it, since pushes cannot travel between instances through such a pooler; or session';
    faults.add('DATABASE_POOLER', was, accepts);
  }
}

/** Refuses one port for two listeners (contract §2). */
function applyPortRules({ port, metricsPort }: Values, faults: Faults): void {
  if (metricsPort !== port || faults.has('PORT')) return;
  faults.add('METRICS_PORT', `was "${metricsPort}"`, 'another port than PORT, or none');
}

/** Refuses settings that are not for production (contract §2, last paragraph). Those of a provider: `parse-provider.ts`. */
function applyProductionRules(values: Values, env: Environment, faults: Faults): void {
  const { databaseUrl, secretKey, redirectUris, rateLimit, trustProxy, publicUrl } = values;
  if (databaseUrl === undefined && !env['DATA_DIR']) {
    const accepts = 'a PostgreSQL URL in production, or DATA_DIR set on purpose for the embedded one';
    faults.add('DATABASE_URL', 'was unset', accepts);
  }
  if (secretKey === undefined) {
    faults.add('SECRET_KEY', 'was unset', 'at least 32 bytes as hex or base64, required in production');
  }
  if (redirectUris === undefined) {
    faults.add('REDIRECT_URIS', 'was unset', 'a comma-separated allow-list, required in production');
  }
  if (rateLimit && (trustProxy === undefined || trustProxy === true)) {
    const was = trustProxy === true ? 'was "true"' : 'was unset';
    const accepts =
      'false, a number of hops or addresses of proxies in production with rate limits on, which could otherwise be evaded or hit everybody';
    faults.add('TRUST_PROXY', was, accepts);
  }
  if (publicUrl?.startsWith('http:') && !isLoopbackUrl(publicUrl)) {
    faults.add('PUBLIC_URL', quote(publicUrl), 'https:// in production, unless the host is loopback');
  }
}
