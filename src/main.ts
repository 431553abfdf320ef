// Nothing is imported here before it is needed: a process 1, as in a container, ignores a signal that it has no handler for, so
// one that came while the service is loaded would be lost.

/** Resolves when it is told to stop. A second signal changes nothing. */
const told = new Promise<NodeJS.Signals>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve);
});

async function main(): Promise<void> {
  const loaded = await Promise.race([import('./serve.js'), told]);
  if (typeof loaded === 'object') await loaded.serve(told);
  process.exit(0); // also where it was told to stop during the start (contract §1)
}

/** One clear line for each fault; a stack only for programming errors. */
function fail(error: unknown): never {
  const { message, stack } = error as Error;
  const isOurs = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  process.stderr.write(`${isOurs ? stack : message}\n`);
  process.exit(1);
}

main().catch(fail);
