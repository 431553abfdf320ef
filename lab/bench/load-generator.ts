import type { ChildProcess } from 'node:child_process';
import { nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import type { KnownSessions, LoadAnswer, LoadRequest } from './load/generator.js';
import type { LoadResult } from './load/run.js';

/** The load generator's process, seen from here. */
export class LoadGenerator {
  private readonly child: ChildProcess;

  constructor(sessions: KnownSessions, cleanup: Cleanup) {
    this.child = startChild('./load/generator.js', cleanup);
    this.child.send(sessions);
  }

  /** @throws what went wrong, with the first answer that was not 200. */
  async run(load: LoadRequest): Promise<LoadResult> {
    this.child.send(load);
    const answer = await nextMessage<LoadAnswer>(this.child);
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }
}
