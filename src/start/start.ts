import 'reflect-metadata';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { styleText } from 'node:util';
import type { Logger } from 'pino';
import { startEmbeddedPostgres } from '#embedded-postgres';
import type { ProviderSettings, Settings } from '../platform/config/settings/settings.js';
import { connectionConfig } from '../platform/database/pool/connection-target.js';
import { PACKAGE_ROOT, VERSION } from '../platform/http/static-files.js';
import type { RetryOptions } from '../platform/database/start/retry.js';
import { createLog } from '../operations/log.js';
import { hasColors, isReadable, logOutput } from '../operations/log-output.js';
import { watchProcess } from '../operations/metrics/process-metrics.js';
import { checkAdapters } from '../provider/custom/custom-adapters.js';
import { postsCode, redirectUrisToRegister } from '../provider/redirect-uris.js';
import { FEATURES } from '../features.js';
import { loadSettings } from '../settings.js';
import type { Application } from './application.js';

const SIGNAL_MS = 50; // Ctrl-C also ends initdb; its failure may arrive before the signal
/** Time to wait for a database that is unavailable, slow or read-only (docs/production.md). */
const DATABASE_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 3000; // time for the embedded database to stop after a failed or aborted start

/** Runs the service until a signal, perhaps during the start, and stops it. @throws what ends the start */
export async function serve(signalled: Promise<NodeJS.Signals>): Promise<void> {
  const settings = loadSettings();
  const log = createLog(settings.logLevel, logOutput(settings));
  const stopping = new AbortController();
  void signalled.then((signal) => {
    log.info(`${signal}: stopping`);
    return stopping.abort();
  });

  watchProcess();
  for (const warning of settings.warnings) log.warn(warning);
  // before anything is started
  for (const feature of FEATURES.filter((one) => one.isOn(settings))) {
    for (const warning of (await feature.check?.(settings)) ?? []) log.warn(warning);
  }
  await Promise.race([checkAdapters(settings, (line) => log.warn(line)), signalled]);
  if (stopping.signal.aborted) return;
  const endTraces = settings.traces
    ? (await import('../operations/traces/traces.js')).startTraces(log)
    : undefined;
  const service = await startService(settings, log, stopping.signal).catch(async (error: unknown) => {
    await delay(SIGNAL_MS);
    if (!stopping.signal.aborted) throw error;
  });
  if (!service) return;
  await announce(settings, log, service);
  // in the background: the other providers can be used
  void service.providers.check((line) => log.warn(line));

  await signalled;
  await service.stop();
  await endTraces?.();
}

/**
 * Starts the whole service: database, migrations, application, listener.
 * @param signal aborts the start at once; pending work ends with the process
 * @throws the error of the first part that fails; the embedded database is stopped then
 */
export async function startService(
  settings: Settings,
  log: Logger,
  signal: AbortSignal = new AbortController().signal,
  timeoutMs = DATABASE_TIMEOUT_MS,
): Promise<Application> {
  signal.throwIfAborted();
  const retries: RetryOptions = { timeoutMs, signal, log: (line) => log.info(line) };
  const embedded = settings.databaseUrl
    ? undefined
    : startEmbeddedPostgres({ dataDir: settings.dataDir, log: retries.log });
  embedded?.catch(() => undefined); // it may fail before it is awaited

  async function start(): Promise<Application> {
    // While the database starts; and after the settings were read, since they fail fast.
    const { startApplication } = await import('./application.js');
    const database = await embedded;
    const databaseUrl = settings.databaseUrl ?? database!.url;
    const databaseDirectUrl = settings.databaseDirectUrl ?? databaseUrl;
    return startApplication({ ...settings, databaseUrl, databaseDirectUrl }, log, retries, database);
  }

  try {
    const aborted = once(signal, 'abort').then(() => signal.throwIfAborted() as never);
    return await Promise.race([start(), aborted]);
  } catch (error) {
    const stopped = embedded?.then(
      (database) => database.stop(),
      () => undefined, // the start throws its error
    );
    await Promise.race([stopped, delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    throw error;
  }
}

/** Names the address of the service and what it uses; at a terminal, also how to try it. */
async function announce(settings: Settings, log: Logger, service: Application): Promise<void> {
  const providers = service.providers.list();
  const facts = readyFacts(settings, providers);
  for (const line of providerLines(settings, providers)) log.info(line);
  if (providers.length === 0)
    log.warn('No user can sign in: no provider is enabled. Set the keys of one (providers.<name>.url, …).');
  const isForPeople = !settings.production && isReadable(settings) && settings.logLevel !== 'silent';
  if (!isForPeople) return log.info(`Latchkey is ready: ${settings.publicUrl} (${facts})`);
  const present = FEATURES.filter((feature) => feature.isOn(settings));
  const notes = await Promise.all(present.flatMap((feature) => feature.welcome?.(settings) ?? []));
  const home = present.find((feature) => feature.home !== undefined)?.home;
  process.stdout.write(welcome(settings, home, notes.flat(), hasColors(), facts));
}

const PROTOCOLS: Readonly<Record<string, string>> = {
  contract: 'a provider of the contract',
  oidc: 'OpenID Connect',
  oauth2: 'OAuth 2.0',
};

/**
 * Names what runs and what it uses, without user names and passwords: version, address, database, Redis,
 * providers.
 */
export function readyFacts(settings: Settings, providers: readonly ProviderSettings[]): string {
  const { host, port } = settings;
  const names = providers.map(({ name }) => name).join(', ') || 'none';
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const database = describeDatabase(settings);
  return `version ${VERSION}, listening on ${address}, database ${database}, Redis ${describeRedis(settings)}, providers: ${names}`;
}

/** Describes each provider but the built-in one, with the redirect URIs to register there. */
export function providerLines(settings: Settings, providers: readonly ProviderSettings[]): string[] {
  const others = providers.filter(({ isBuiltIn }) => !isBuiltIn);
  return others.map((provider) => {
    const { name, adapter, url, options, redirectUris = settings.redirectUris } = provider;
    const at = url ?? options['authorize_url']?.split('?')[0];
    const uris = redirectUrisToRegister(settings, provider);
    const count = `${uris.length} redirect ${uris.length === 1 ? 'URI' : 'URIs'} to register`;
    const more =
      redirectUris === undefined && !postsCode(provider) ? ', and the callback of your application' : '';
    const protocol = PROTOCOLS[adapter] ?? `adapter ${adapter}`;
    return `${name}: ${protocol}${at === undefined ? '' : ` at ${at}`}, ${count}: ${uris.join(', ')}${more}`;
  });
}

function describeDatabase({ databaseUrl, dataDir }: Settings): string {
  if (databaseUrl === undefined) return `embedded in ${dataDir}`;
  const { host, port, database } = connectionConfig(databaseUrl);
  return `${host ?? 'localhost'}${port ? `:${port}` : ''}/${database ?? ''}`;
}

function describeRedis({ redisUrl }: Settings): string {
  if (redisUrl === undefined) return 'not set';
  return typeof redisUrl === 'string' ? new URL(redisUrl).host : `${redisUrl.name} by Sentinel`;
}

/** The installed package does not contain all of them. */
const DOCUMENTS = [
  ['docs/quick-start.md', 'from here to a sign-in on your own page'],
  ['examples/react', 'a React application with an API of its own'],
  ['docs/providers.md', 'your own identity provider'],
] as const;

/**
 * Returns the text that ends a start in development.
 * @param home what the page at `/` is for; undefined: there is none
 * @param notes lines of features
 * @param facts what the service uses
 */
function welcome(
  settings: Pick<Settings, 'publicUrl' | 'generatedServiceKey'>,
  home: string | undefined,
  notes: readonly string[],
  isColoured: boolean,
  facts: string,
): string {
  const { publicUrl, generatedServiceKey } = settings;
  const title = `  Latchkey is ready: ${publicUrl}`;
  const places = [
    ...(home === undefined ? [] : [[publicUrl, home] as const]),
    [`${publicUrl}/docs`, 'every call, with examples'] as const,
    ...DOCUMENTS.filter(([path]) => existsSync(join(PACKAGE_ROOT, path))),
  ];
  const width = Math.max(...places.map(([place]) => place.length));
  return [
    '',
    isColoured ? styleText('bold', title) : title,
    `  ${facts}`,
    '',
    ...places.map(([place, about]) => `  ${place.padEnd(width)}  ${about}`),
    '',
    ...notes.map((note) => `  ${note}`),
    ...(generatedServiceKey === undefined ? [] : [`  Service key, for your own API: ${generatedServiceKey}`]),
    '  Ctrl-C stops it.',
    '',
    '',
  ].join('\n');
}
