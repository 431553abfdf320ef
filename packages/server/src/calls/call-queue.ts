import { temporarilyUnavailable } from '../latchkey-error.js';

const CALLS_AT_A_TIME = 100;
const MOST_WAITING = 10_000;

/** Limits the number of concurrent calls to the service. */
export class CallQueue {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /**
   * Makes a call, once fewer than 100 others are running.
   * @throws LatchkeyError `temporarily_unavailable` if 10,000 wait
   */
  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.running < CALLS_AT_A_TIME) this.running++;
    else if (this.waiting.length >= MOST_WAITING) throw temporarilyUnavailable();
    else await new Promise<void>((resolve) => this.waiting.push(resolve)); // takes over a finished call's place
    try {
      return await call();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}
