import type { ChildProcess } from 'node:child_process';
import { nextMessage, startChild } from '../child.js';
import type { Cleanup } from '../cleanup.js';
import type { PeersAnswer, PeersRequest } from '../load/peers.js';
import type { LoadResult } from '../load/run.js';
import type { Peer, PeerWorkload } from './peer.js';

/** The load generator of peers (load/peers.ts), seen from here. */
export class PeerGenerator {
  private readonly child: ChildProcess;

  constructor(cleanup: Cleanup) {
    this.child = startChild('./load/peers.js', cleanup);
  }

  async learn({ port, scripts }: Peer): Promise<void> {
    for (const [workload, script] of Object.entries(scripts)) {
      await this.ask({ do: 'learn', port, workload: workload as PeerWorkload, script });
    }
  }

  /** @throws what went wrong, with the first answer that was not as it should be */
  async run(load: Omit<PeersRequest & { do: 'run' }, 'do'>): Promise<LoadResult> {
    const answer = await this.ask({ do: 'run', ...load });
    if (!('count' in answer)) throw new Error('nothing was measured');
    return answer;
  }

  private async ask(order: PeersRequest): Promise<PeersAnswer> {
    this.child.send(order);
    const answer = await nextMessage<PeersAnswer>(this.child);
    if ('error' in answer) throw new Error(answer.error);
    return answer;
  }
}
