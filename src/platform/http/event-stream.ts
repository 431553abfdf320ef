import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import { OAuthError } from '../errors/oauth-error.js';

/** Streams of a route and instance (docs/security.md#session-revocation-feed). */
const MOST_STREAMS = 100;
/** Upper bound for characters that the reader has not read. Beyond it, the stream is closed. */
const MAX_UNSENT = 1024 * 1024;
/** Time for the reader to read the rest when the stream ends. */
const CLOSE_TIMEOUT_MS = 400;

/**
 * Server-sent events (WHATWG HTML §9.2). Readers of a closed stream reconnect with their cursor. Nest's
 * `@Sse()` answers 200 before the database is read, buffers without bound, and cannot be ended at shutdown.
 */
export class EventStream {
  /** @param response without headers sent */
  constructor(private readonly response: ServerResponse) {
    // After 60 s without traffic (express.adapter.ts). Without the database there is nothing to send.
    response.on('timeout', () => {
      if (response.writableLength > 0) response.destroy();
    });
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  begin(): void {
    if (this.response.headersSent || !this.isOpen) return;
    this.response.setHeader('Content-Type', 'text/event-stream');
    this.response.setHeader('X-Accel-Buffering', 'no'); // nginx forwards each event at once
    this.response.flushHeaders();
  }

  send(text: string): void {
    if (!this.isOpen || text === '') return;
    // Checked before the write, which copies the text for each reader.
    if (this.response.writableLength + text.length > MAX_UNSENT) return this.cutOff();
    this.begin();
    this.response.write(text);
  }

  /** Whether to wait for `drained` before the next write. */
  get isFull(): boolean {
    return this.isOpen && this.response.writableNeedDrain;
  }

  /** Resolves when the reader has read most of the text, or has disconnected. */
  drained(): Promise<void> {
    const { response } = this;
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.on('drain', done).on('close', done);
    });
  }

  cutOff(): void {
    this.response.destroy();
  }

  /** Ends the stream; closes the connection if the reader does not read the rest in time. */
  end(): void {
    this.begin(); // a browser does not reconnect after an answer without the type (WHATWG HTML §9.2.3)
    this.response.end();
    setTimeout(() => this.response.destroy(), CLOSE_TIMEOUT_MS).unref();
  }

  onClose(listener: () => void): void {
    this.response.once('close', listener);
  }
}

/** Open streams of a route on this instance, each with its state. */
export class EventStreams<State> {
  readonly open = new Map<EventStream, State>();
  private stopping = false;

  /**
   * Adds a stream until its reader disconnects, or `begin` fails.
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of `begin`
   */
  async add(stream: EventStream, state: State, begin: () => Promise<void>): Promise<void> {
    if (this.stopping) throw new OAuthError('server_error', 'the service is stopping');
    if (this.open.size >= MOST_STREAMS)
      throw new OAuthError('slow_down', 'too many streams are open', { headers: { 'Retry-After': '5' } });
    this.open.set(stream, state);
    stream.onClose(() => this.open.delete(stream));
    try {
      await begin();
    } catch (error) {
      this.open.delete(stream);
      throw error;
    }
    if (!stream.isOpen) this.open.delete(stream); // `close` is not emitted if the response was closed before
  }

  /** Ends all streams after the listener has closed: readers reconnect elsewhere with their cursors. */
  stop(): void {
    this.stopping = true;
    for (const stream of this.open.keys()) stream.end();
  }
}

/** Answers a request with a stream; HEAD with the head alone (RFC 9110 §9.3.2). */
export async function answerWithStream(
  { method }: Request,
  response: ServerResponse,
  open: (stream: EventStream) => Promise<void>,
): Promise<void> {
  const stream = new EventStream(response);
  if (method !== 'HEAD') return open(stream);
  stream.begin();
  response.end();
}

/** Formats an event. @param id for `Last-Event-ID` */
export function eventText(name: string, data: object, id?: string): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return `event: ${name}\n${idLine}data: ${JSON.stringify(data)}\n\n`; // JSON has no line breaks
}
