import { isMainThread } from 'node:worker_threads';
import { register } from 'node:module';

// Preloaded by a service: what its first file imports is never loaded, and a SIGTERM arrives meanwhile.
if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  if (!context.parentURL?.endsWith('/dist/src/main.js')) return next(specifier, context);
  process.kill(process.pid, 'SIGTERM');
  return new Promise(() => undefined);
}
