import type { HttpWorkload } from '../options.js';
import { refreshScript } from './refresh.script.js';
import { run, type Load, type LoadResult } from './run.js';
import { signInScript } from './sign-in.script.js';

// The load generator: a process of its own, so that it takes nothing but CPU from the target. The first message holds the
// refresh tokens; each further one asks for a load, and is answered with a result.
export type LoadRequest = Load & { readonly workload: HttpWorkload };
export type LoadAnswer = LoadResult | { readonly error: string };

process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.once('disconnect', () => process.exit(0));

process.once('message', (refreshTokens: string[]) => {
  const scripts = { W1: refreshScript(refreshTokens), W3: signInScript() };
  process.on('message', (load: LoadRequest) => {
    void run(scripts[load.workload], load).then(
      (result) => process.send!(result),
      (error: Error) => process.send!({ error: error.message }),
    );
  });
});
