import type { ServerResponse } from 'node:http';

/** Characters that may wait for the reader. Then it is cut off, and goes on from its cursor once it reads again. */
const MOST_UNSENT = 1024 * 1024;
/** How long a reader may take to read the rest when the stream ends. */
const FAREWELL_MS = 400;

/** Proxies pass each event on at once: nginx asks for the header, and the others for nothing. */
const HEADERS = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' };

const streams = new WeakSet<ServerResponse>();

/** Whether an answer has no end. */
export function isEventStream(response: ServerResponse): boolean {
  return streams.has(response);
}

/**
 * An answer without end: server-sent events (WHATWG HTML §9.2). Not Nest's `@Sse()`, which answers 200 before anything was
 * read, keeps all that a slow reader has not read in memory, and cannot be ended at shutdown.
 */
export class EventStream {
  /** @param response of which nothing was sent yet */
  constructor(private readonly response: ServerResponse) {
    // 60 s without any traffic (unread-answers.ts). A reader with nothing left to read may be silent: the database is away.
    response.on('timeout', () => {
      if (response.writableLength > 0) response.destroy();
    });
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.writableEnded;
  }

  /** Sends the head, so that the reader knows that it is connected. */
  begin(): void {
    if (this.response.headersSent || !this.isOpen) return;
    for (const [name, value] of Object.entries(HEADERS)) this.response.setHeader(name, value);
    streams.add(this.response);
    this.response.flushHeaders();
  }

  /** @param text whole events (see eventText) */
  send(text: string): void {
    if (!this.isOpen || text === '') return;
    // Before it is written, which copies it for each reader: thousands of sign-outs at once are told in one text.
    if (this.response.writableLength + text.length > MOST_UNSENT) return this.cutOff();
    this.begin();
    this.response.write(text);
  }

  /** Whether more should wait until the reader has read (`drained`). */
  get isFull(): boolean {
    return this.isOpen && this.response.writableNeedDrain;
  }

  /** Resolves when the reader has read most of what was sent, or is gone. */
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

  /** Closes it without an end: the reader goes on from its cursor once it reads again. */
  cutOff(): void {
    this.response.destroy();
  }

  /** Ends it. A reader that does not read is not waited for: it goes on from its cursor. */
  end(): void {
    this.response.end();
    setTimeout(() => this.response.destroy(), FAREWELL_MS).unref();
  }

  onClose(listener: () => void): void {
    this.response.once('close', listener);
  }
}

/** @param name of the event. @param id for `Last-Event-ID` */
export function eventText(name: string, data: object, id?: string): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return `event: ${name}\n${idLine}data: ${JSON.stringify(data)}\n\n`; // JSON holds no line break
}
