import type { ChannelHistory, HistoryState } from '../channel/channel.history.js';
import type { ChannelEvent } from '../events.js';

/** The history as channels read it: a few pages at a time, so that thousands who missed something leave room for requests. */
export class HistoryReads {
  private running = 0;
  /** Those who wait to begin, one for each open connection at most. */
  private readonly waiting = new Set<() => void>();

  /** @param most pages at a time */
  constructor(
    private readonly history: Pick<ChannelHistory, 'state' | 'read'>,
    private readonly most: number,
  ) {}

  state(userId: string, offset: number): Promise<HistoryState> {
    return this.history.state(userId, offset);
  }

  async read(userId: string, after: number, limit: number): Promise<ChannelEvent[]> {
    if (this.running < this.most) this.running++;
    else await new Promise<void>((begin) => this.waiting.add(begin));
    try {
      return await this.history.read(userId, after, limit);
    } finally {
      const [next] = this.waiting;
      if (next) {
        this.waiting.delete(next);
        next(); // takes this one's place
      } else this.running--;
    }
  }
}
