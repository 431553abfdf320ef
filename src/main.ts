import 'reflect-metadata';
import { InvalidSettings } from './config/invalid-settings.js';
import { loadSettings } from './config/load-settings.js';
import { createLog } from './operations/log.js';

async function main(): Promise<void> {
  const settings = loadSettings();
  const log = createLog(settings.logLevel);
  for (const warning of settings.warnings) log.warn(warning);

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

/** One clear line a fault; the stack only where it may help. */
function fail(error: unknown): never {
  const lines = error instanceof InvalidSettings ? error.message : (error as Error).stack;
  process.stderr.write(`${lines}\n`);
  process.exit(1);
}

main().catch(fail);
