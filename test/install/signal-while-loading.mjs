import { isMainThread } from 'node:worker_threads';
import { register } from 'node:module';

// Preloaded by a service: sends SIGTERM while the sources that its first file imports are loading, which never ends.
if (isMainThread) {
  register(import.meta.url);
  setInterval(() => undefined, 1000); // else the process may end before the signal comes: nothing keeps it alive
}

export function resolve(specifier, context, next) {
  if (!context.parentURL?.endsWith('/dist/src/main.js') || !specifier.startsWith('.'))
    return next(specifier, context);
  process.kill(process.pid, 'SIGTERM');
  return new Promise(() => undefined);
}
