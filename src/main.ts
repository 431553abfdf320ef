// Static imports would delay the signal handlers: as process 1 of a container, the process ignores signals without a handler.

/** Resolves to the first signal to stop. A second one changes nothing. */
const signalled = new Promise<NodeJS.Signals>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve);
});

async function main(): Promise<void> {
  const loaded = await Promise.race([import('./serve.js'), signalled]);
  if (typeof loaded === 'object') await loaded.serve(signalled);
  process.exit(0); // also after a signal during the start
}

/** Prints one line per error; a stack only for programming errors. */
function fail(error: unknown): never {
  const { message, stack } = error as Error;
  const isBug = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  process.stderr.write(`${isBug ? stack : message}\n`);
  process.exit(1);
}

main().catch(fail);
