import type { ChannelHistory, HistoryState } from '../../channel/channel.history.js';
import type { ChannelEvent } from '../../events.js';

/** The history as channels read it: a few pages at a time, so that thousands who missed something leave room for requests. */
export class HistoryReads {
  private running = 0;
  /** Those who wait to begin, one for each open connection at most. */
  private readonly waiting = new Set<() => void>();

  /**
   * @param most pages at a time
   * @param told of each page: how many events it had, and the seconds since it was asked for
   */
  constructor(
    private readonly history: Pick<ChannelHistory, 'state' | 'read'>,
    private readonly most: number,
    private readonly told: (read: { events: number; seconds: number }) => void = () => undefined,
  ) {}

  get waitingCount(): number {
    return this.waiting.size;
  }

  state(userId: string, offset: number): Promise<HistoryState> {
    return this.history.state(userId, offset);
  }

  async read(userId: string, after: number, limit: number): Promise<ChannelEvent[]> {
    const began = performance.now();
    if (this.running < this.most) this.running++;
    else await new Promise<void>((begin) => this.waiting.add(begin));
    try {
      const page = await this.history.read(userId, after, limit);
      this.told({ events: page.length, seconds: (performance.now() - began) / 1000 });
      return page;
    } finally {
      const [next] = this.waiting;
      if (next) {
        this.waiting.delete(next);
        next(); // takes this one's place
      } else this.running--;
    }
  }
}
