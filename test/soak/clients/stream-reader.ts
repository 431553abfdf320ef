import { setTimeout as delay } from 'node:timers/promises';
import { EventStreamReader } from '../../support/event-stream.js';
import type { Tally } from './tally.js';

const READ_MS = 60_000;

/** Another service of the application: it reads of ended sessions, and connects again now and then with its cursor. */
export class StreamReader {
  private readonly end = new AbortController();

  constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly tally: Tally,
  ) {}

  /** Resolves after `stop`. */
  async run(): Promise<void> {
    let cursor: string | undefined;
    const { signal } = this.end;
    while (!signal.aborted) {
      try {
        const reader = await EventStreamReader.open(this.url, this.key, cursor);
        const isOver = Symbol('over');
        const over = delay(READ_MS, isOver, { signal }).catch(() => isOver);
        if ((await Promise.race([over, reader.ended])) !== isOver) this.tally.wrong('a stream ended');
        if (!reader.isReady && !signal.aborted) this.tally.wrong('a stream that was never ready');
        for (let i = reader.of('ended').length; i > 0; i--) this.tally.count('ended sessions told');
        cursor = reader.lastEventId;
        reader.close();
        await reader.ended;
      } catch (error) {
        this.tally.wrong(`stream: ${(error as Error).message}`);
        await delay(1000);
      }
    }
  }

  stop(): void {
    this.end.abort();
  }
}
