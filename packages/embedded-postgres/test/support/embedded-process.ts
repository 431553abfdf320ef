import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SystemAccount } from '../../src/system-account.js';

interface Report {
  readonly url?: string;
  readonly error?: string;
  readonly log?: string;
}

/** A separate process with an embedded PostgreSQL, or with the reason why it has none. */
export interface EmbeddedProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly error: string;
  /** What it has logged until then. */
  readonly log: readonly string[];
  /** Stops it, and resolves with its exit code. */
  stop(): Promise<unknown>;
}

const TSX = pathToFileURL(join(process.cwd(), 'node_modules/tsx/dist/loader.mjs')).href;

/**
 * Begins to start one, without waiting for anything.
 *
 * @param root of the source tree to run, when it is not this one
 * @param account to run it as, when it is not this process's own
 */
export function forkOwner(dataDir: string, root = process.cwd(), account?: SystemAccount): ChildProcess {
  const script = join(root, 'packages/embedded-postgres/test/support/embedded-owner.ts');
  const env = { ...process.env, CANARY: 'canary-of-the-environment' };
  return fork(script, [dataDir], { cwd: root, execArgv: ['--import', TSX], env, ...account });
}

/** As `forkOwner`, and waits until it has started or failed. */
export async function forkEmbedded(
  ...[dataDir, root, account]: Parameters<typeof forkOwner>
): Promise<EmbeddedProcess> {
  const child = forkOwner(dataDir, root, account);
  const exit = once(child, 'exit');
  const log: string[] = [];
  const { url = '', error = '' } = await new Promise<Report>((resolve) => {
    child.on('message', (report: Report) => {
      if (report.log !== undefined) log.push(report.log);
      else resolve(report);
    });
    child.once('exit', () => resolve({ error: 'it ended without a word' }));
  });
  return {
    child,
    url,
    error,
    log,
    async stop() {
      if (url) child.send('stop', () => undefined); // it may have been killed
      return (await exit)[0];
    },
  };
}
