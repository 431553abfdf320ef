import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { loadSettings } from './config/settings/load-settings.js';
import { createLog } from './operations/log.js';
import { hasColors, isReadable, logOutput } from './operations/log-output.js';
import { watchProcess } from './operations/metrics/process-metrics.js';
import { welcome } from './operations/welcome.js';
import { checkAdapters } from './provider/custom/custom-adapters.js';
import { providerLines, readyFacts } from './ready.js';
import { checkAccountsFile } from './sample-provider/accounts/accounts-file.js';
import { demoAccounts } from './sample-provider/accounts/accounts.js';

const SIGNAL_MS = 50; // Ctrl-C also ends initdb; its failure may arrive before the signal

/** Runs the service until a signal arrives, which may be during the start, and stops it. @throws what prevents the start */
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
  checkAccountsFile(settings);
  await Promise.race([checkAdapters(settings, (line) => log.warn(line)), signalled]); // before anything is started
  if (stopping.signal.aborted) return;
  const endTraces = settings.traces
    ? (await import('./operations/traces/traces.js')).startTraces(log)
    : undefined;
  const { startService } = await import('./start.js'); // after the settings: they fail fast, without a stack
  const service = await startService(settings, log, stopping.signal).catch(async (error: unknown) => {
    await delay(SIGNAL_MS);
    if (!stopping.signal.aborted) throw error;
  });
  if (!service) return;
  const isForPeople = !settings.production && isReadable(settings) && settings.logLevel !== 'silent';
  const providers = service.providers.list();
  const facts = readyFacts(settings, providers);
  for (const line of providerLines(settings, providers)) log.info(line);
  if (providers.length === 0)
    log.warn('No user can sign in: no provider is enabled. Set the keys of one (providers.<name>.url, …).');
  const { sampleProvider } = settings;
  const accounts = sampleProvider && !sampleProvider.accountsFile ? demoAccounts : [];
  if (isForPeople) process.stdout.write(welcome(settings, accounts, hasColors(), facts));
  else log.info(`Latchkey is ready: ${settings.publicUrl} (${facts})`);
  void service.providers.check((line) => log.warn(line)); // in the background: the other providers can be used

  await signalled;
  await service.stop();
  await endTraces?.();
}
