import { setTimeout as delay } from 'node:timers/promises';
import { OAuthError } from '../errors/oauth-error.js';
import { ConcurrencyLimit } from './limits.js';

/** Reads of one caller at a time, and waiting reads. */
const OF_ONE = 2;
const MOST_WAITING = 100;
const LONGEST_WAIT_MS = 2000;
const LONGEST_REST_MS = 500;

/** A person or a service key, as the audit trail names them. */
export interface ReadBy {
  readonly type: string;
  readonly name?: string | undefined;
}

interface Caller {
  readonly limit: ConcurrencyLimit;
  /** Milliseconds that the last read took. */
  took: number;
}

/**
 * Runs reads that take the database or the process milliseconds: two at a time for each caller, and `most`
 * for all callers in turn. The others wait, in their order.
 */
export class HeavyReads {
  private readonly callers = new Map<string, Caller>();
  private readonly all: ConcurrencyLimit;

  constructor(most: number) {
    this.all = new ConcurrencyLimit(most);
  }

  /** @throws OAuthError `slow_down` if too many reads of the caller wait, or this one has waited too long */
  run<Result>(by: ReadBy, read: () => Promise<Result>): Promise<Result> {
    const began = performance.now();
    if ((this.callers.get(keyOf(by))?.limit.waiting ?? 0) >= MOST_WAITING) throw tooManyReads();
    return this.runLater(by, () => {
      if (performance.now() - began > LONGEST_WAIT_MS) throw tooManyReads();
      return read();
    });
  }

  /** Runs a part of an answer that has begun, however long it has to wait. */
  async runLater<Result>(by: ReadBy, read: () => Promise<Result>): Promise<Result> {
    const key = keyOf(by);
    const caller = this.callers.get(key) ?? { limit: new ConcurrencyLimit(OF_ONE), took: 0 };
    this.callers.set(key, caller);
    const hasToWait = caller.limit.isReached;
    try {
      return await caller.limit.run(async () => {
        // The process is free for other requests for as long as the read before took.
        if (hasToWait) await delay(Math.min(caller.took, LONGEST_REST_MS));
        return this.all.run(async () => {
          const began = performance.now();
          try {
            return await read();
          } finally {
            caller.took = performance.now() - began;
          }
        });
      });
    } finally {
      if (caller.limit.isIdle) this.callers.delete(key);
    }
  }
}

function keyOf({ type, name = '' }: ReadBy): string {
  return `${type} ${name}`;
}

/** Makes the error for a caller with too many reads. @public */
export function tooManyReads(): OAuthError {
  const headers = { 'Retry-After': '2' };
  return new OAuthError('slow_down', 'too many costly reads of one caller at a time', { headers });
}
