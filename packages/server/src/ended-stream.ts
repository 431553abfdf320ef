import { setTimeout as delay } from 'node:timers/promises';
import type { EndedSessions } from './ended-sessions.js';
import type { StreamListener } from './event-stream-parser.js';
import type { KeySet } from './key-set.js';
import type { LatchkeyError } from './latchkey-error.js';
import { refusesKey, type ServiceKey } from './service-key.js';
import { StreamConnection, StreamRefused } from './stream-connection.js';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;
/** A service that is full may ask for more patience, up to this. */
const LONGEST_RETRY_AFTER_S = 30;
const LONGEST_CURSOR = 1024;

interface Options {
  readonly url: string;
  readonly serviceKey: ServiceKey;
  readonly warn: (message: string) => void;
}

/** Keeps itself told of ended sessions and revoked keys (contract §8), by one connection after another. */
export class EndedStream {
  private connection = new StreamConnection();
  /** How far it was told; opaque. */
  private cursor = '';
  /** Connections in a row that failed before they were ready. */
  private failures = 0;
  /** Whether the present outage was reported. */
  private isReported = false;
  /** `service_key_refused`, if that was the service's last answer. */
  refusal: LatchkeyError | undefined;
  private readonly closing = new AbortController();

  constructor(
    private readonly options: Options,
    private readonly ended: EndedSessions,
    private readonly keys: KeySet,
  ) {
    void this.run();
  }

  /** Whether every session that has ended is known, but for the last seconds. */
  get isFresh(): boolean {
    return this.connection.isFresh && !this.ended.hasForgottenTooMuch();
  }

  close(): void {
    this.closing.abort();
    this.connection.close();
  }

  private async run(): Promise<void> {
    const { signal } = this.closing;
    while (!signal.aborted) {
      if (this.ended.hasForgottenTooMuch()) {
        this.ended.rememberAnew();
        this.cursor = '';
      }
      this.ended.sweep();
      this.connection = new StreamConnection();
      const address = { ...this.options, cursor: this.cursor };
      const error = await this.connection.read(address, this.listener()).catch((reason: unknown) => reason);
      if (signal.aborted) return;
      this.failures++;
      this.report(error);
      await delay(this.waitAfter(error), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private listener(): StreamListener {
    return {
      onEvent: (name, data) => {
        if (name === 'ended') this.takeEnded(data);
        else if (name === 'key_revoked') this.takeRevoked(data);
        else if (name === 'ready') this.takeReady();
      },
      // A block with a cursor: the service has just read its database, and has told all that ended before.
      onBlock: (cursor) => {
        if (cursor === undefined) return;
        this.takeCursor(cursor);
        if (this.ended.hasForgottenTooMuch()) throw new Error('the clock of this machine was set back');
        this.connection.stillFresh();
        this.ended.sweep();
      },
    };
  }

  /** What cannot be read is not passed over: the connection fails, and counts as away. */
  private takeEnded(data: string): void {
    const { session_id: sessionId, until } = JSON.parse(data) as Record<string, unknown>;
    const time = typeof until === 'string' ? Date.parse(until) : NaN;
    if (typeof sessionId !== 'string' || Number.isNaN(time))
      throw new Error('an ended session cannot be read');
    this.ended.add(sessionId, time);
  }

  private takeRevoked(data: string): void {
    const { kid } = JSON.parse(data) as Record<string, unknown>;
    if (typeof kid !== 'string') throw new Error('a revoked key cannot be read');
    this.keys.revoke(kid);
  }

  private takeReady(): void {
    this.failures = 0;
    this.isReported = false;
    this.refusal = undefined;
    this.options.serviceKey.accepted();
    this.connection.ready();
  }

  private takeCursor(cursor: string): void {
    if (cursor.length <= LONGEST_CURSOR && /^[\x21-\x7e]+$/.test(cursor)) this.cursor = cursor;
  }

  /**
   * Once an outage, and a refused key in any case: no waiting helps. A single broken connection is no outage, since the next one
   * follows at once.
   */
  private report(error: unknown): void {
    const status = error instanceof StreamRefused ? error.status : undefined;
    const isKeyRefused = status !== undefined && refusesKey(status);
    this.refusal = isKeyRefused ? this.options.serviceKey.refused(status, 'read') : undefined;
    if (this.isReported || (status === undefined && this.failures < 2)) return;
    this.isReported = true;
    if (isKeyRefused) return; // by the key itself
    this.options.warn(`sign-outs are not heard of (GET /sessions/ended): ${reasonOf(error)}`);
  }

  /** Milliseconds; differs from one process to the next, so that not all come back at the same moment. */
  private waitAfter(error: unknown): number {
    const longest = Math.min(FIRST_WAIT_MS * 2 ** Math.max(0, this.failures - 1), LONGEST_WAIT_MS);
    const asked =
      error instanceof StreamRefused ? Math.min(error.retryAfter, LONGEST_RETRY_AFTER_S) * 1000 : 0;
    return Math.max(longest, asked || 0) * (0.5 + Math.random() / 2);
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  return [message, cause?.code].filter(Boolean).join(' ');
}
