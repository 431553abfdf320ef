import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { SettingErrors, quote } from './invalid-settings.js';
import type { KeptSecretKey } from '../secrets/kept-secret-key.js';
import { enabledProviders } from '../providers/enabled-providers.js';
import { providerVariables } from '../providers/provider-variables.js';
import { SecretKey } from '../secrets/secret-key.js';
import { read, type Environment, type Setting } from './setting-row.js';
import type { SecretFile, Settings, Values } from './settings.js';
import { settingsTable } from './settings-table.js';
import { warningsFor } from './warnings.js';
import { isLoopbackUrl } from '../urls/urls.js';

export interface Surroundings {
  /** Relative paths begin here. */
  readonly cwd?: string;
  /** Returns the key if `SECRET_KEY` is unset outside production; by default a random one. */
  readonly keptSecretKey?: (dataDir: string) => KeptSecretKey;
  readonly exposureOfDataDir?: (dataDir: string) => string | undefined;
  /** By variable of the secret. */
  readonly secretFiles?: ReadonlyMap<string, SecretFile>;
  readonly errors?: SettingErrors;
}

const CLOSED_DIRECTORY =
  'a directory of this account or of root, to which no other account may write (chown, chmod go-w)';

/**
 * Parses an environment, without reading any file.
 *
 * @param env e.g. `{ PORT: '4000' }`; missing and empty settings have their defaults
 * @throws InvalidSettings with all errors
 */
export function parseSettings(env: Environment, surroundings: Surroundings = {}): Settings {
  const { cwd = process.cwd(), keptSecretKey = newSecretKey, errors = new SettingErrors() } = surroundings;
  const { exposureOfDataDir = () => undefined } = surroundings;
  const { secretFiles = new Map<string, SecretFile>() } = surroundings;
  const values = readValues(env, errors);
  const production = values.nodeEnv === 'production';
  const given = providerVariables(env, errors);
  const providers = enabledProviders(given, { production, cwd, secretFiles }, errors);
  applyDatabaseRules(values, errors);
  applyPortRules(values, errors);
  if (production) applyProductionRules(values, env, errors);
  const dataDir = resolve(cwd, values.dataDir);
  const exposed = values.databaseUrl && values.secretKey ? undefined : exposureOfDataDir(dataDir);
  if (exposed !== undefined && production) {
    errors.add('DATA_DIR', `${quote(dataDir)}, which ${exposed}`, CLOSED_DIRECTORY);
  }
  errors.check(); // before a key is generated: a refused start leaves nothing behind

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

/** Reads every setting of the table. An invalid one gets its default, so that the others can be checked. */
function readValues(env: Environment, errors: SettingErrors): Values {
  const production = env[settingsTable.nodeEnv.name] === 'production';
  const values = Object.entries(settingsTable).map(([key, setting]: [string, Setting<unknown>]) => [
    key,
    read(setting, setting.name, env[setting.name], errors) ?? defaultOf(setting, production),
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each row, of its parser's type
  return Object.fromEntries(values) as Values;
}

function defaultOf(setting: Setting<unknown>, production: boolean): unknown {
  const text = (production ? setting.productionDefault : undefined) ?? setting.default;
  return text === undefined ? undefined : setting.parser.parse(text);
}

function newSecretKey(): KeptSecretKey {
  return { key: new SecretKey(randomBytes(32)) };
}

/** Refuses combinations of the database's settings (contract §2). */
function applyDatabaseRules(values: Values, errors: SettingErrors): void {
  const { databaseUrl, databaseDirectUrl, databasePooler, redisUrl } = values;
  if (databaseDirectUrl !== undefined && databaseUrl === undefined) {
    errors.add('DATABASE_URL', 'was unset', 'a PostgreSQL URL, as DATABASE_DIRECT_URL is set');
  }
  const wayAround =
    databaseDirectUrl ?? redisUrl ?? ['DATABASE_DIRECT_URL', 'REDIS_URL'].find((name) => errors.has(name));
  if (databasePooler === 'transaction' && wayAround === undefined) {
    const was = 'was "transaction", with neither DATABASE_DIRECT_URL nor REDIS_URL';
    const accepts =
      'one of the two beside it, since pushes cannot travel between instances through such a pooler; or session';
    errors.add('DATABASE_POOLER', was, accepts);
  }
}

/** Refuses one port for two listeners (contract §2). */
function applyPortRules({ port, metricsPort }: Values, errors: SettingErrors): void {
  if (metricsPort !== port || errors.has('PORT')) return;
  errors.add('METRICS_PORT', `was "${metricsPort}"`, 'another port than PORT, or none');
}

/** Refuses settings that are too weak for production (contract §2); for providers see enabled-providers.ts. */
function applyProductionRules(values: Values, env: Environment, errors: SettingErrors): void {
  const { databaseUrl, secretKey, redirectUris, rateLimit, trustProxy, publicUrl } = values;
  if (databaseUrl === undefined && !env['DATA_DIR']) {
    const accepts = 'a PostgreSQL URL in production, or DATA_DIR set on purpose for the embedded one';
    errors.add('DATABASE_URL', 'was unset', accepts);
  }
  if (secretKey === undefined) {
    errors.add('SECRET_KEY', 'was unset', 'at least 32 bytes as hex or base64, required in production');
  }
  if (redirectUris === undefined) {
    errors.add('REDIRECT_URIS', 'was unset', 'a comma-separated allow-list, required in production');
  }
  if (rateLimit && (trustProxy === undefined || trustProxy === true)) {
    const was = trustProxy === true ? 'was "true"' : 'was unset';
    const accepts =
      'false, a number of hops or addresses of proxies in production with rate limits on, which could otherwise be evaded or hit everybody';
    errors.add('TRUST_PROXY', was, accepts);
  }
  if (publicUrl?.startsWith('http:') && !isLoopbackUrl(publicUrl)) {
    errors.add('PUBLIC_URL', quote(publicUrl), 'https:// in production, unless the host is loopback');
  }
}

const OTLP_ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
/** The exporters of OpenTelemetry's SDK. */
const EXPORTERS = ['otlp', 'zipkin', 'console'];

/** Whether OpenTelemetry's variables ask for traces (contract §2): by an exporter, or else by an endpoint. */
function wantsTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  const exporters = (env['OTEL_TRACES_EXPORTER'] ?? '').split(',').map((name) => name.trim());
  if (exporters.some((name) => name !== '')) return exporters.some((name) => EXPORTERS.includes(name));
  return OTLP_ENDPOINTS.some((name) => (env[name] ?? '').trim() !== '');
}
