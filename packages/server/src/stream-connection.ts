import { EventStreamParser, type StreamListener } from './event-stream-parser.js';
import type { ServiceKey } from './service-key.js';

/** A moment by both clocks: one that is never set, and one that goes on while the machine sleeps. */
interface Moment {
  readonly steady: number;
  readonly wall: number;
}

function thisMoment(): Moment {
  return { steady: performance.now(), wall: Date.now() };
}

/** Milliseconds since then, by the clock that says more. */
function since({ steady, wall }: Moment): number {
  return Math.max(performance.now() - steady, Date.now() - wall);
}

/** The service says something every second (contract §8). */
const SILENCE_MS = 2000;
/** To connect, and between two pieces of the past, which may be long. */
const PATIENCE_MS = 10_000;
const WATCH_EVERY_MS = 250;

/** The service answered, but not with the stream. */
export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    /** Seconds that the answer asks to wait; NaN without. */
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
  /** When anything arrived last. */
  private heard: Moment = thisMoment();
  /** When it last said that all is told until now; undefined until the past is told. */
  private toldAll: Moment | undefined;
  /** Whether there was a silence before the past was told: then all of it may be old. */
  private mayBeOld = false;

  /** Whether what it has told is all that there is to tell, but for the last seconds. */
  get isFresh(): boolean {
    return this.toldAll !== undefined && since(this.toldAll) <= SILENCE_MS;
  }

  /** The past is told. */
  ready(): void {
    this.toldAll = thisMoment();
  }

  /** All is told until now, if the past is. */
  stillFresh(): void {
    if (this.toldAll) this.toldAll = thisMoment();
  }

  close(): void {
    this.end.abort(new Error('closed'));
  }

  /**
   * Reads until it fails.
   * @throws StreamRefused, and Error of any kind; it never ends otherwise
   */
  async read({ url, serviceKey, cursor }: StreamAddress, listener: StreamListener): Promise<never> {
    const watch = setInterval(() => this.closeIfSilent(), WATCH_EVERY_MS).unref();
    try {
      const response = await fetch(`${url}/sessions/ended`, {
        headers: {
          Accept: 'text/event-stream',
          ...serviceKey.header,
          ...(cursor !== '' && { 'Last-Event-ID': cursor }),
        },
        redirect: 'error', // the key is for the service alone
        signal: this.end.signal,
      });
      await this.readBody(response, listener);
      throw new Error('the service ended the stream');
    } finally {
      clearInterval(watch);
      this.toldAll = undefined;
      this.close();
    }
  }

  private async readBody({ status, headers, body }: Response, listener: StreamListener): Promise<void> {
    if (status !== 200) throw new StreamRefused(status, Number(headers.get('retry-after') ?? NaN));
    if (!headers.get('content-type')?.startsWith('text/event-stream'))
      throw new Error('the answer is no event stream');
    const parser = new EventStreamParser(listener);
    for await (const chunk of body ?? []) {
      // After a silence (this process or the service stood still, or what lies between) this may be old, and more of the kind
      // may follow: only a new connection shows what is true now.
      if (this.isSilent()) throw silent();
      this.mayBeOld ||= since(this.heard) > SILENCE_MS;
      this.heard = thisMoment();
      parser.feed(chunk as Uint8Array);
      if (this.toldAll && this.mayBeOld) throw silent(); // the next one goes on from its cursor, so it has little to tell
    }
  }

  private isSilent(): boolean {
    return this.toldAll ? !this.isFresh : since(this.heard) > PATIENCE_MS;
  }

  private closeIfSilent(): void {
    if (this.isSilent()) this.end.abort(silent());
  }
}

const silent = (): Error => new Error('nothing was heard for too long');
