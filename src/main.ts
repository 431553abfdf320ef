import 'reflect-metadata';
import { once } from 'node:events';
import { loadSettings } from './config/load-settings.js';
import { createLog } from './operations/log.js';
import { watchProcess } from './operations/metrics/process-metrics.js';
import { checkAdapters } from './provider/check-adapters.js';
import { checkAccountsFile } from './sample-provider/accounts-file.js';

async function main(): Promise<void> {
  const settings = loadSettings();
  const log = createLog(settings.logLevel);

  watchProcess();

  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) return; // a second signal changes nothing
      log.info(`${signal}: stopping`);
      stopping.abort();
    });
  }

  const told = once(stopping.signal, 'abort');

  for (const warning of settings.warnings) log.warn(warning);
  checkAccountsFile(settings);
  await Promise.race([checkAdapters(settings, (line) => log.warn(line)), told]); // before anything is started
  if (stopping.signal.aborted) process.exit(0); // told to stop during the start (contract §1)
  const endTraces = settings.traces
    ? (await import('./operations/traces/traces.js')).startTraces(log)
    : undefined;
  const { startService } = await import('./start.js'); // after the settings: they fail fast, without a stack
  const service = await startService(settings, log, stopping.signal).catch((error: unknown) => {
    if (stopping.signal.aborted) process.exit(0);
    throw error;
  });
  log.info(`Latchkey is ready: ${settings.publicUrl}`);
  void service.checkProviders((line) => log.warn(line)); // not waited for: a provider that is away harms nobody else

  await told;
  await service.stop();
  await endTraces?.();
  process.exit(0);
}

/** One clear line for each fault; a stack only for programming errors. */
function fail(error: unknown): never {
  const { message, stack } = error as Error;
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  process.stderr.write(`${isOurs ? stack : message}\n`);
  process.exit(1);
}

main().catch(fail);
