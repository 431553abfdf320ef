import 'reflect-metadata';
import { loadSettings } from './config/load-settings.js';
import { createLog } from './operations/log.js';
import { checkAdapters } from './provider/check-adapters.js';

async function main(): Promise<void> {
  const settings = loadSettings();
  const log = createLog(settings.logLevel);
  for (const warning of settings.warnings) log.warn(warning);
  await checkAdapters(settings, (line) => log.warn(line)); // fails as fast

  const { startService } = await import('./start.js'); // after the settings: they fail fast, without a stack
  const starting = startService(settings, log);

  let stopping: Promise<void> | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      stopping ??= stop(signal).catch(fail); // a second signal changes nothing
    });
  }
  async function stop(signal: string): Promise<void> {
    log.info(`${signal}: stopping`);
    const service = await starting;
    await service.stop();
    process.exit(0);
  }

  await starting;
  log.info(`Latchkey is ready: ${settings.publicUrl}`);
}

/** One clear line a fault; a stack only for faults of our own. */
function fail(error: unknown): never {
  const { message, stack } = error as Error;
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  process.stderr.write(`${isOurs ? stack : message}\n`);
  process.exit(1);
}

main().catch(fail);
