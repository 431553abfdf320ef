import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { loadSettings } from './config/settings/load-settings.js';
import type { Settings } from './config/settings/settings.js';
import { createLog } from './operations/log.js';
import { hasColors, isReadable, logOutput } from './operations/log-output.js';
import { watchProcess } from './operations/metrics/process-metrics.js';
import { welcome } from './operations/welcome.js';
import { checkAdapters } from './provider/custom/custom-adapters.js';
import { checkAccountsFile } from './sample-provider/accounts/accounts-file.js';
import { demoAccounts } from './sample-provider/accounts/demo-accounts.js';

/** Ctrl-C also ends programs that the start waits for (initdb): their end is known before the signal is. */
const SIGNAL_MS = 50;

/**
 * Runs the service until it is told to stop, also during the start, and stops it.
 *
 * @param told resolves to the signal that tells it to
 * @throws what prevents the start
 */
export async function serve(told: Promise<NodeJS.Signals>): Promise<void> {
  const settings = loadSettings();
  const log = createLog(settings.logLevel, logOutput(settings));
  const stopping = new AbortController();
  void told.then((signal) => {
    log.info(`${signal}: stopping`);
    return stopping.abort();
  });

  watchProcess();
  for (const warning of settings.warnings) log.warn(warning);
  checkAccountsFile(settings);
  await Promise.race([checkAdapters(settings, (line) => log.warn(line)), told]); // before anything is started
  if (stopping.signal.aborted) return;
  const endTraces = settings.traces
    ? (await import('./operations/traces/traces.js')).startTraces(log)
    : undefined;
  const start = await Promise.race([import('./start.js'), told]); // after the settings: they fail fast, without a stack
  if (typeof start === 'string') return;
  const service = await start.startService(settings, log, stopping.signal).catch(async (error: unknown) => {
    await delay(SIGNAL_MS);
    if (stopping.signal.aborted) return undefined;
    throw error;
  });
  if (!service) return;
  if (isForTrying(settings)) process.stdout.write(welcome(settings, shownAccounts(settings), hasColors()));
  else log.info(`Latchkey is ready: ${settings.publicUrl}`);
  void service.checkProviders((line) => log.warn(line)); // not waited for: a provider that is away harms nobody else

  await told;
  await service.stop();
  await endTraces?.();
}

/** In development, where people read along; not where they asked for silence. */
function isForTrying(settings: Settings): boolean {
  return !settings.production && isReadable(settings) && settings.logLevel !== 'silent';
}

function shownAccounts({ sampleProvider }: Settings): typeof demoAccounts {
  return sampleProvider && !sampleProvider.accountsFile ? demoAccounts : [];
}
