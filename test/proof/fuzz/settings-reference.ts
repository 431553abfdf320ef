import { resolve } from 'node:path';
import { Claims } from './claims.js';
import { providersByTheBook, secretOfProvider } from './providers-reference.js';
import type { Reading } from './reading.js';
import { isInsecure, READERS } from './values-reference.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the secret files of the inputs hold, by their paths; no other can be read. */
export type Files = Readonly<Record<string, string>>;

const SECRETS = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'REDIS_URL', 'SECRET_KEY', 'SERVICE_KEYS'];
const DEFAULTS = {
  port: 3000,
  databasePooler: 'session',
  databasePoolSize: 10,
  accessTokenTtl: 3600,
  refreshTokenTtl: 2_592_000,
  stateTtl: 600,
  rateLimitAuthorize: 300,
  rateLimitToken: 300,
  rateLimitRefresh: 1200,
  rateLimitBadToken: 120,
  rateLimitConnect: 600,
  rateLimitWrite: 60,
  channelHistory: 1000,
  shutdownDelay: 0,
  logLevel: 'info',
};

/** The secret that a variable holds, or whose file it names. Neither is ever printed (contract §2). */
export function secretOf(
  variable: string,
): { readonly secret: string; readonly isFile: boolean } | undefined {
  const base = variable.replace(/_FILE$/, '');
  if (SECRETS.includes(base)) return { secret: base, isFile: base !== variable };
  return secretOfProvider(variable);
}

/** What an environment means, and what is wrong with it, by the contract's §2; written from it and docs/settings.md alone. */
export function settingsByTheBook(given: Environment, cwd: string, files: Files): Claims {
  const claims = new Claims();
  const env = withFiles(given, cwd, files, claims);
  const readings = new Map<string, Reading>();
  const isSet = (variable: string): boolean => !!env[variable];
  for (const [variable, [setting, reader]] of Object.entries(READERS)) {
    const text = env[variable];
    if (!text || claims.isLost(variable)) continue;
    const reading = reader(text, cwd);
    readings.set(variable, reading);
    if (!reading) claims.fault(variable);
    else if (reading.isOpen) claims.doubt(variable);
    claims.setting(setting, reading?.is, reading?.isOpen);
  }
  const valueOf = (variable: string): unknown => readings.get(variable)?.is;
  const isDoubtful = (variable: string): boolean =>
    isSet(variable) && (claims.isLost(variable) || readings.get(variable)?.isOpen !== false);
  const production = env['NODE_ENV'] === 'production';

  applyDefaults(claims, production, cwd);
  if (isSet('DATABASE_DIRECT_URL') && !isSet('DATABASE_URL')) {
    if (isDoubtful('DATABASE_DIRECT_URL')) claims.doubt('DATABASE_URL');
    else claims.fault('DATABASE_URL');
  }
  if (valueOf('DATABASE_POOLER') === 'transaction' && !isSet('DATABASE_DIRECT_URL') && !isSet('REDIS_URL'))
    claims.fault('DATABASE_POOLER');
  if (
    isSet('METRICS_PORT') &&
    !isDoubtful('METRICS_PORT') &&
    !(isSet('PORT') && isDoubtful('PORT')) &&
    valueOf('METRICS_PORT') === (valueOf('PORT') ?? 3000)
  )
    claims.fault('METRICS_PORT');
  if (production) {
    if (!isSet('DATABASE_URL') && !isSet('DATA_DIR')) claims.fault('DATABASE_URL');
    if (!isSet('SECRET_KEY')) claims.fault('SECRET_KEY');
    if (!isSet('REDIRECT_URIS')) claims.fault('REDIRECT_URIS');
    const isOpenToAll = !isSet('TRUST_PROXY') || valueOf('TRUST_PROXY') === true;
    if (isOpenToAll && valueOf('RATE_LIMIT') !== false) {
      if (isDoubtful('RATE_LIMIT')) claims.doubt('TRUST_PROXY');
      else claims.fault('TRUST_PROXY');
    }
    const publicUrl = valueOf('PUBLIC_URL');
    if (typeof publicUrl === 'string' && isInsecure(publicUrl)) claims.fault('PUBLIC_URL');
  }
  providersByTheBook(env, { production, cwd }, claims);
  for (const variable of Object.keys(env)) {
    if (['CORS_ORIGIN', 'DATABSE_URL'].includes(variable) && env[variable]) claims.warning(variable);
  }
  claims.setting('traces', !!env['OTEL_EXPORTER_OTLP_ENDPOINT']?.trim());
  return claims;
}

function applyDefaults(claims: Claims, production: boolean, cwd: string): void {
  const { settings } = claims;
  const inBoth: Readonly<Record<string, unknown>> = {
    ...DEFAULTS,
    production,
    host: production ? '0.0.0.0' : '127.0.0.1',
    rateLimit: production,
    demoEnabled: !production,
    dataDir: resolve(cwd, 'data'),
    serviceKeys: [],

    publicUrl: `http://localhost:${(settings.get('port') as number | undefined) ?? DEFAULTS.port}`,
  };
  if (!settings.has('databaseDirectUrl'))
    claims.setting('databaseDirectUrl', settings.get('databaseUrl'), !claims.isSure('databaseUrl'));
  for (const [setting, is] of Object.entries(inBoth)) if (!settings.has(setting)) claims.setting(setting, is);
  for (const [setting] of Object.values(READERS))
    if (!settings.has(setting) && setting !== 'secretKey') claims.setting(setting, undefined);
}

/** `<NAME>_FILE` of secrets, in both spellings, with what the file holds but for the line break at its end. */
function withFiles(
  given: Environment,
  cwd: string,
  files: Files,
  claims: Claims,
): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = { ...given };
  for (const [variable, path] of Object.entries(given)) {
    const found = secretOf(variable);
    if (!path || !found?.isFile) continue;
    const { secret } = found;
    delete env[variable];
    if (given[secret]) {
      claims.oneOf(secret, variable);
      claims.lose(secret);
      continue;
    }
    claims.spelled(secret, variable);
    const text = Object.hasOwn(files, resolve(cwd, path))
      ? files[resolve(cwd, path)]!.replace(/[\r\n]+$/, '')
      : undefined;
    env[secret] = text ?? 'unreadable';
    if (text !== undefined) continue;
    claims.fault(secret);
    claims.lose(secret);
  }
  return env;
}
