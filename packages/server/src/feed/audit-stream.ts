import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEvent } from '../calls/audit-event.js';
import { readAnswer, readText, type ServiceCalls } from '../calls/service-calls.js';
import { refusesKey } from '../calls/service-key.js';
import { LatchkeyError } from '../latchkey-error.js';
import { EventStreamParser } from './event-stream-parser.js';
import { pauseAfter, reasonOf } from './outage.js';

const PATH = '/audit/stream';
/** The service sends something every second. */
const SILENCE_MS = 10_000;

/** An event of the stream. */
export interface AuditStreamEvent {
  readonly data: AuditEvent;
  /** Position after this event, for `stream({ lastEventId })`; opaque. */
  readonly lastEventId: string;
}

/**
 * Follows `GET /audit/stream` (docs/audit.md#stream), over one connection after another. The next chunk is
 * read if the reader asks for it.
 */
export class AuditStream {
  /** `Last-Event-ID` of the next connection. */
  private cursor = '';
  /** Consecutive connections that failed before the first cursor. */
  private failures = 0;

  constructor(
    private readonly calls: ServiceCalls,
    private readonly warn: (message: string) => void,
    private readonly signal: AbortSignal,
  ) {}

  async *from(lastEventId = ''): AsyncGenerator<AuditStreamEvent, void, undefined> {
    this.cursor = lastEventId;
    const { signal } = this;
    while (!signal.aborted) {
      const error = yield* this.connection();
      if (this.isEnded()) return;
      if (error instanceof LatchkeyError && error.code !== 'temporarily_unavailable') throw error;
      this.failures++;
      if (this.failures === 2)
        this.warn(`The audit trail is not received (GET ${PATH}: ${reasonOf(error)}). It tries again`);
      const retryAfter = error instanceof LatchkeyError ? Number(error.headers['Retry-After']) : undefined;
      await delay(pauseAfter(this.failures, retryAfter), undefined, { signal }).catch(() => undefined);
    }
  }

  private isEnded(): boolean {
    return this.signal.aborted;
  }

  /** Yields the events of one connection, and returns the reason of its end. */
  private async *connection(): AsyncGenerator<AuditStreamEvent, unknown, undefined> {
    const { serviceKey } = this.calls;
    const end = new AbortController();
    const signal = AbortSignal.any([this.signal, end.signal]);
    const inTime = async <Result>(work: Promise<Result>): Promise<Result> => {
      const timer = setTimeout(() => end.abort(new Error('nothing was received for too long')), SILENCE_MS);
      return work.finally(() => clearTimeout(timer));
    };
    try {
      const response = await inTime(
        fetch(this.calls.url + PATH, {
          headers: {
            Accept: 'text/event-stream',
            ...serviceKey.header,
            ...(this.cursor !== '' && { 'Last-Event-ID': this.cursor }),
          },
          redirect: 'manual', // the key is for the service alone
          signal,
        }),
      );
      if (refusesKey(response.status)) throw serviceKey.refused(response.status, 'read');
      if (response.status !== 200) readAnswer(response, await inTime(readText(response)));
      if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
        throw new Error('the answer is no event stream');
      serviceKey.accepted();
      const found: AuditStreamEvent[] = [];
      const parser = this.parserInto(found);
      const reader = response.body!.getReader();
      for (;;) {
        const { done, value } = await inTime(reader.read());
        if (done) throw new Error('the service ended the stream');
        parser.feed(value);
        yield* found.splice(0);
      }
    } catch (error) {
      return error;
    } finally {
      end.abort();
    }
  }

  private parserInto(found: AuditStreamEvent[]): EventStreamParser {
    let data: AuditEvent | undefined;
    return new EventStreamParser({
      onEvent: (name, text) => {
        if (name !== 'ready') data = JSON.parse(text) as AuditEvent;
      },
      onBlock: (id) => {
        if (id === undefined) return;
        this.cursor = id;
        this.failures = 0;
        if (data) found.push({ data, lastEventId: id });
        data = undefined;
      },
    });
  }
}
