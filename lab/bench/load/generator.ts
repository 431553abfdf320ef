import type { BoundSession } from '../bound-session.js';
import type { HttpWorkload } from '../options.js';
import { introspectScript } from './introspect.script.js';
import { refreshWithProofScript } from './refresh-with-proof.script.js';
import { refreshScript } from './refresh.script.js';
import { run, type Load, type LoadResult } from './run.js';
import type { Script } from './script.js';
import { signInScript } from './sign-in.script.js';

/** What the load generator refreshes with. */
export interface KnownSessions {
  readonly refreshTokens: readonly string[];
  readonly boundSessions: readonly BoundSession[];
  /** Who signs in, in turn: the first so many (sign-in-users.ts). */
  readonly signInUsers: number;
}

// The load generator: a process of its own, so that it takes nothing but CPU from the target. The first message holds the
// sessions; each further one asks for a load, and is answered with a result.
export type LoadRequest = Load & { readonly workload: HttpWorkload };
export type LoadAnswer = LoadResult | { readonly error: string };

process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.once('disconnect', () => process.exit(0));

process.once('message', ({ refreshTokens, boundSessions, signInUsers }: KnownSessions) => {
  const [refresh, signIn] = [refreshScript(refreshTokens), signInScript(signInUsers)];
  const [refreshWithProof, introspect] = [
    refreshWithProofScript(boundSessions),
    introspectScript(refreshTokens),
  ];
  const scripts: Record<HttpWorkload, (load: Load) => Script | Promise<Script>> = {
    W1: () => refresh,
    W1P: ({ milliseconds }) => refreshWithProof(milliseconds),
    W2: ({ port }) => introspect(port),
    W3: () => signIn,
  };
  const answer = async (load: LoadRequest): Promise<LoadResult> =>
    run(await scripts[load.workload](load), load);
  process.on('message', (load: LoadRequest) => {
    void answer(load).then(
      (result) => process.send!(result),
      (error: Error) => process.send!({ error: error.message }),
    );
  });
});
