import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { NOT_SHOWN, SettingErrors, quote } from './invalid-settings.js';
import { exposureOfDataDir, generatedSecret } from '../secrets/generated-secret.js';
import { enabledProviders, HTTPS } from '../providers/enabled-providers.js';
import { providerVariables } from '../providers/provider-variables.js';
import { SecretKey } from '../secrets/secret-key.js';
import { read, type Environment, type Setting } from './setting-row.js';
import { SettingTables } from './settings-part.js';
import type { SecretFile, Settings, Values } from './settings.js';
import { settingsTable } from './settings-table.js';
import { namesPrivateAddress } from './signed-calls.js';
import { warningsFor } from './warnings.js';
import { isLoopbackUrl } from '../urls/urls.js';

export interface Surroundings {
  /** By default, the rows of the core alone. */
  readonly tables: SettingTables;
  /** Relative paths begin here. */
  readonly cwd: string;
  /**
   * Outside production, secrets under `DATA_DIR` that replace unset ones: `generated` if missing, `checked`
   * without creating, SECRET_KEY only if `existing`, or `none`, with a random SECRET_KEY.
   */
  readonly generatedSecrets: 'generated' | 'checked' | 'existing' | 'none';
  readonly secretFiles: ReadonlyMap<string, SecretFile>;
  readonly errors: SettingErrors;
}

const CLOSED_DIRECTORY =
  'a directory of this account or of root, to which no other account may write (chown, chmod go-w)';

/** Parses an environment, with defaults; reads no file by default. @throws InvalidSettings */
export function parseSettings(env: Environment, surroundings: Partial<Surroundings> = {}): Settings {
  const { cwd = process.cwd(), generatedSecrets = 'none', errors = new SettingErrors() } = surroundings;
  const { tables = new SettingTables([]), secretFiles = new Map<string, SecretFile>() } = surroundings;
  const values = readValues(env, tables, errors);
  const production = values.nodeEnv === 'production';
  const variables = providerVariables(env, errors);
  const providers = enabledProviders(variables, tables, { production, cwd, secretFiles }, errors);
  applyRules(values, env, tables, errors);
  const dataDir = resolve(cwd, values.dataDir);
  const isStart = generatedSecrets === 'generated' || generatedSecrets === 'checked';
  const needsServiceKey = isStart && !production && !values.serviceKeys;
  const usesDataDir = !values.databaseUrl || !values.secretKey || needsServiceKey;
  const exposed = isStart && usesDataDir ? exposureOfDataDir(dataDir) : undefined;
  if (exposed !== undefined && production) {
    errors.add('DATA_DIR', exposed, CLOSED_DIRECTORY, quote(dataDir));
  }
  errors.check(); // before a key is generated: a refused start leaves nothing behind

  const key =
    values.secretKey || generatedSecrets === 'none'
      ? undefined
      : generatedSecret(dataDir, 'SECRET_KEY', settingsTable.secretKey.parser, generatedSecrets);
  const service = needsServiceKey
    ? generatedSecret(dataDir, 'SERVICE_KEYS', settingsTable.serviceKeys.parser, generatedSecrets)
    : undefined;
  const { nodeEnv: _, ...asRead } = values;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members of features are among the values
  const withoutProviders = {
    ...asRead,
    production,
    publicUrl: values.publicUrl ?? `http://localhost:${values.port}`,
    databaseDirectUrl: values.databaseDirectUrl ?? values.databaseUrl,
    dataDir,
    secretKey: values.secretKey ?? key?.value ?? new SecretKey(randomBytes(32)),
    serviceKeys: values.serviceKeys ?? service?.value ?? [],
    generatedServiceKey: service?.value?.[0]?.key,
    secretFiles,
    traces: wantsTraces(env),
  } as Omit<Settings, 'providers' | 'ownRedirectUris' | 'warnings'>;
  const builtIn = [...providers.builtIn].map(([name, of]) => [name, of(withoutProviders)] as const);
  const settings: Settings = {
    ...withoutProviders,
    providers: new Map([...builtIn, ...providers.others]),
    ownRedirectUris: [],
    warnings: [],
  };
  return {
    ...settings,
    ownRedirectUris: tables.parts.flatMap((part) => part.redirectUris?.(settings) ?? []),
    warnings: [
      ...(exposed === undefined ? [] : [`DATA_DIR ${exposed}; production accepts ${CLOSED_DIRECTORY}.`]),
      ...[key?.warning, service?.warning].filter((warning) => warning !== undefined),
      ...warningsFor(env, values, variables, tables),
      ...tables.parts.flatMap((part) => part.warnings?.(settings, new Set(variables.keys())) ?? []),
    ],
  };
}

/** Reads every setting. An invalid one gets its default, so that the others can be checked. */
function readValues(env: Environment, tables: SettingTables, errors: SettingErrors): Values {
  const production = env[settingsTable.nodeEnv.name] === 'production';
  const values = Object.entries(tables.settings).map(([key, setting]) => [
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

/** Refuses combinations, and in production weak settings (docs/production.md#what-the-start-refuses). */
function applyRules(
  values: Values,
  env: Environment,
  { settings }: SettingTables,
  errors: SettingErrors,
): void {
  const { databaseUrl, databaseDirectUrl, databasePooler, redisUrl, port, metricsPort } = values;
  const { nodeEnv, secretKey, redirectUris, rateLimit, trustProxy, publicUrl } = values;
  const { webhookUrls, webhookPrivate, auditRetentionDays } = values;
  const rows = Object.entries(settings).map(([key, row]) => ({ row, value: values[key as keyof Values] }));
  const set = rows.filter(({ value }) => value !== undefined);
  for (const { row } of set) {
    const needed = rows.find((one) => one.row.name === row.needs);
    if (needed?.value !== undefined || !needed) continue;
    errors.add(needed.row.name, `is not set, but ${row.name} is`, needed.row.parser.accepts);
  }
  const wayAround =
    databaseDirectUrl ?? redisUrl ?? ['DATABASE_DIRECT_URL', 'REDIS_URL'].find((name) => errors.has(name));
  if (databasePooler === 'transaction' && wayAround === undefined) {
    const use =
      'one of the two beside it, or session: such a pooler lets no notification pass between instances';
    errors.add('DATABASE_POOLER', 'is transaction, without DATABASE_DIRECT_URL and without REDIS_URL', use);
  }
  if (metricsPort === port && !errors.has('PORT')) {
    errors.add('METRICS_PORT', 'is equal to PORT', 'another port, or none', quote(String(metricsPort)));
  }
  if (webhookUrls !== undefined && auditRetentionDays === 0) {
    const use = 'a day or more: webhooks are sent from the stored events';
    errors.add('AUDIT_RETENTION_DAYS', 'is 0, but WEBHOOK_URLS is set', use);
  }
  checkTraces(env, errors);
  if (nodeEnv !== 'production') return;
  for (const { row, value } of webhookPrivate ? [] : set) {
    if (!row.isCalled || ![value].flat().map(String).some(namesPrivateAddress)) continue;
    const use = 'addresses on the Internet in production, or set WEBHOOK_PRIVATE=true';
    errors.add(row.name, 'has an address of this machine or of a private network', use, NOT_SHOWN);
  }
  if (databaseUrl === undefined && !env['DATA_DIR']) {
    const use = 'a PostgreSQL URL in production, or set DATA_DIR for the embedded database';
    errors.add('DATABASE_URL', 'is not set', use);
  }
  if (secretKey === undefined) {
    errors.add('SECRET_KEY', 'is not set', 'at least 32 bytes as hex or base64; production requires it');
  }
  if (redirectUris === undefined) {
    errors.add('REDIRECT_URIS', 'is not set', 'a comma-separated allow-list; production requires it');
  }
  if (rateLimit && (trustProxy === undefined || trustProxy === true)) {
    const problem = trustProxy === true ? 'is true' : 'is not set';
    const use = 'false without a proxy, 1 behind one proxy. Without it, rate limits would not work';
    errors.add('TRUST_PROXY', problem, use);
  }
  if (publicUrl?.startsWith('http:') && !isLoopbackUrl(publicUrl)) {
    errors.add('PUBLIC_URL', 'is not secure', HTTPS, quote(publicUrl));
  }
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
const EXPORTERS = ['otlp', 'console'];
const PROTOCOLS = ['http/protobuf', 'http/json'];

/** Whether variables ask for traces (docs/metrics.md#traces): by an exporter, or else by an endpoint. */
function wantsTraces(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return false;
  const exporters = exportersIn(env);
  if (exporters.length > 0) return exporters.some((name) => EXPORTERS.includes(name));
  return ENDPOINTS.some((name) => (env[name] ?? '').trim() !== '');
}

/** Refuses exporters and protocols that the service does not bring. */
function checkTraces(env: Environment, errors: SettingErrors): void {
  for (const name of exportersIn(env)) {
    if (![...EXPORTERS, 'none'].includes(name))
      errors.add('OTEL_TRACES_EXPORTER', 'is not supported', 'otlp, console or none', quote(name));
  }
  if (!wantsTraces(env)) return;
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = (env[name] ?? '').trim();
    if (protocol !== '' && !PROTOCOLS.includes(protocol))
      errors.add(name, 'is not supported', PROTOCOLS.join(' or '), quote(protocol));
  }
}

const exportersIn = (env: Environment): string[] =>
  (env['OTEL_TRACES_EXPORTER'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
