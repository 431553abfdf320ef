import type { ServerResponse } from 'node:http';

/** Upper bound for characters that the reader has not read. Beyond it, the stream is closed. */
const MAX_UNSENT = 1024 * 1024;
/** Time for the reader to read the rest when the stream ends. */
const CLOSE_TIMEOUT_MS = 400;

/** `X-Accel-Buffering` makes nginx forward each event at once. */
const HEADERS = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };

/**
 * Server-sent events (WHATWG HTML §9.2). Readers of a closed stream reconnect with their cursor. Nest's `@Sse()` answers 200
 * before the database is read, buffers without bound for slow readers, and cannot be ended at shutdown.
 */
export class EventStream {
  /** @param response without headers sent */
  constructor(private readonly response: ServerResponse) {
    // After 60 s without traffic (unread-answers.ts). While the database is unavailable, there is nothing to send.
    response.on('timeout', () => {
      if (response.writableLength > 0) response.destroy();
    });
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /** Sends the headers, so that the reader knows that it is connected. */
  begin(): void {
    if (this.response.headersSent || !this.isOpen) return;
    for (const [name, value] of Object.entries(HEADERS)) this.response.setHeader(name, value);
    this.response.flushHeaders();
  }

  /** @param text whole events (see eventText) */
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

  /** Closes the connection at once. */
  cutOff(): void {
    this.response.destroy();
  }

  /** Ends the stream; closes the connection if the reader does not read the rest in time. */
  end(): void {
    this.response.end();
    setTimeout(() => this.response.destroy(), CLOSE_TIMEOUT_MS).unref();
  }

  onClose(listener: () => void): void {
    this.response.once('close', listener);
  }
}

/** Formats an event. @param id for `Last-Event-ID` */
export function eventText(name: string, data: object, id?: string): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return `event: ${name}\n${idLine}data: ${JSON.stringify(data)}\n\n`; // JSON has no line breaks
}
