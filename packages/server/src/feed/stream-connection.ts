import type { ServiceKey } from '../calls/service-key.js';
import { EventStreamParser, type StreamListener } from './event-stream-parser.js';

/** A moment by two clocks: a monotonic one, and one that runs while the machine sleeps. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since a moment, by the clock with the larger difference. */
function since({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}

/** The service sends something every second. */
const SILENCE_MS = 2000;
/** To connect, and between two chunks before `ready`. */
const CONNECT_TIMEOUT_MS = 10_000;
const WATCH_EVERY_MS = 250;

/** The service answered, but not with the stream. */
export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    /** Seconds of `Retry-After`; NaN without. */
    readonly retryAfter: number,
  ) {
    super(`the service answered with ${status}`);
  }
}

export interface StreamAddress {
  readonly url: string;
  readonly serviceKey: ServiceKey;
  /** `Last-Event-ID`; empty: from the beginning. */
  readonly cursor: string;
}

/** One connection to `GET /sessions/ended`, from connecting until it fails. */
export class StreamConnection {
  private readonly end = new AbortController();
  private lastChunk: Moment = thisMoment();
  /** When the stream was last complete; undefined before `ready`. */
  private completeAt: Moment | undefined;
  /** Whether there was a silence before `ready`: then the events before it may be outdated. */
  private mayBeOld = false;

  /** Whether all sign-outs were received, except for the last seconds. */
  get isFresh(): boolean {
    return this.completeAt !== undefined && since(this.completeAt) <= SILENCE_MS;
  }

  /** To be called at `ready`. */
  ready(): void {
    this.completeAt = thisMoment();
  }

  /** To be called at each cursor; no effect before `ready`. */
  stillFresh(): void {
    if (this.completeAt) this.ready();
  }

  close(): void {
    this.end.abort(new Error('closed'));
  }

  /**
   * Reads until the connection fails.
   * @throws StreamRefused, or Error for any other end
   */
  async read({ url, serviceKey, cursor }: StreamAddress, listener: StreamListener): Promise<never> {
    const watch = setInterval(() => this.isSilent() && this.end.abort(silent()), WATCH_EVERY_MS).unref();
    try {
      const response = await fetch(`${url}/sessions/ended`, {
        headers: {
          Accept: 'text/event-stream',
          ...serviceKey.header,
          ...(cursor !== '' && { 'Last-Event-ID': cursor }),
        },
        // Node 20: with `error`, `signal` is lost at a garbage collection. The key is for the service alone.
        redirect: 'manual',
        signal: this.end.signal,
      });
      await this.readBody(response, listener);
      throw new Error('the service ended the stream');
    } finally {
      clearInterval(watch);
      this.completeAt = undefined;
      this.close();
    }
  }

  private async readBody({ status, headers, body }: Response, listener: StreamListener): Promise<void> {
    if (status !== 200) throw new StreamRefused(status, Number(headers.get('retry-after') ?? NaN));
    if (!headers.get('content-type')?.startsWith('text/event-stream'))
      throw new Error('the answer is no event stream');
    const parser = new EventStreamParser(listener);
    for await (const chunk of body ?? []) {
      // Chunks after a silence (process pause, network) may be outdated: only a new connection is complete.
      if (this.isSilent()) throw silent();
      this.mayBeOld ||= since(this.lastChunk) > SILENCE_MS;
      this.lastChunk = thisMoment();
      parser.feed(chunk as Uint8Array);
      if (this.completeAt && this.mayBeOld) throw silent(); // the next connection resumes at the cursor
    }
  }

  private isSilent(): boolean {
    return this.completeAt ? !this.isFresh : since(this.lastChunk) > CONNECT_TIMEOUT_MS;
  }
}

const silent = (): Error => new Error('nothing was received for too long');
