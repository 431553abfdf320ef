import { isMainThread } from 'node:worker_threads';
import { register } from 'node:module';

// Preloaded by a service: sends SIGTERM while the imports of its first file are loading, which never ends.
if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  if (!context.parentURL?.endsWith('/dist/src/main.js')) return next(specifier, context);
  process.kill(process.pid, 'SIGTERM');
  return new Promise(() => undefined);
}
