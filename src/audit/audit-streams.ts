import { setTimeout as delay } from 'node:timers/promises';
import {
  Controller,
  Get,
  Headers,
  Injectable,
  Logger,
  Req,
  Res,
  type BeforeApplicationShutdown,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { OAuthError } from '../errors/oauth-error.js';
import { EventStream, eventText } from '../http/event-stream.js';
import { ServiceKeyOnly } from '../token/guard/access.js';
import { placeIn } from '../http/parameters/cursor.js';
import { AuditFeed, isBefore, type AuditPage, type Cursor } from './audit-feed.js';

const MOST = 100;
const RETRY_AFTER_S = '5';
const READ_EVERY_MS = 500;

/** Streams of audit events (contract §9). Those that are up to date share a reading, twice a second; others read a page at a time. */
@Injectable()
export class AuditStreams implements BeforeApplicationShutdown {
  private readonly logger = new Logger(AuditStreams.name);
  private readonly streams = new Set<EventStream>();
  /** Cursors of the streams that are up to date. */
  private readonly current = new Map<EventStream, Cursor>();
  /** Cursor of the last shared reading; undefined if there are no streams. */
  private cursor: Cursor | undefined;
  private lastPage: Promise<unknown> = Promise.resolve();
  private stopping = false;

  constructor(private readonly feed: AuditFeed) {}

  /**
   * Sends events until the reader disconnects.
   * @param after cursor of the reader; without a valid one, it begins now
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of the database
   */
  async open(stream: EventStream, after: Cursor | undefined): Promise<void> {
    if (this.stopping) throw new OAuthError('server_error', 'the service is stopping');
    if (this.streams.size >= MOST) {
      throw new OAuthError('slow_down', 'too many streams are open', {
        headers: { 'Retry-After': RETRY_AFTER_S },
      });
    }
    this.streams.add(stream);
    stream.onClose(() => this.forget(stream));
    try {
      await this.catchUp(stream, after);
    } catch (error) {
      this.forget(stream);
      throw error;
    }
    if (!stream.isOpen) this.forget(stream); // `close` is not emitted if the response was closed before
  }

  /** Runs after the listener has closed (contract §8): readers reconnect elsewhere with their cursors. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const stream of this.streams) stream.end();
  }

  /** Sends what is behind a cursor, until the stream is up to date. */
  private async catchUp(stream: EventStream, after: Cursor | undefined): Promise<void> {
    let cursor = after;
    for (;;) {
      const page = await this.inTurn(cursor);
      stream.begin();
      stream.send(textOf(page));
      cursor = page.cursor;
      await stream.drained();
      if (!stream.isOpen) return;
      if (!page.hasMore && !(this.cursor && isBefore(cursor, this.cursor))) break;
    }
    this.current.set(stream, cursor);
    if (this.cursor !== undefined) return;
    this.cursor = cursor;
    void this.readOn();
  }

  private inTurn(after: Cursor | undefined): Promise<AuditPage> {
    const page = this.lastPage.then(() => this.feed.read(after));
    this.lastPage = page.catch(() => undefined);
    return page;
  }

  /** Reads for the streams that are up to date, while there are any streams. */
  private async readOn(): Promise<void> {
    while (this.cursor !== undefined) {
      await delay(READ_EVERY_MS);
      try {
        await this.readNew();
      } catch (error) {
        this.logger.debug({ err: error }); // without a comment, readers know that events may be missing
      }
      if (this.streams.size === 0) this.cursor = undefined;
    }
  }

  /** Sends new events and the cursor. */
  private async readNew(): Promise<void> {
    for (let hasMore = true; hasMore;) {
      const before = this.cursor!;
      const page = await this.feed.read(before);
      const isSetBack = isBefore(page.cursor, before);
      const all = textOf(page);
      for (const [stream, cursor] of this.current) {
        if (stream.isFull) this.fallBehind(stream, isSetBack ? page.cursor : cursor);
        else if (cursor === before || isSetBack) stream.send(all);
        else if (isBefore(page.cursor, cursor))
          continue; // its own reading was later
        else
          stream.send(textOf({ ...page, events: page.events.filter((one) => isBefore(cursor, one.cursor)) }));
        if (this.current.has(stream)) this.current.set(stream, page.cursor);
      }
      this.cursor = page.cursor;
      hasMore = page.hasMore;
    }
  }

  /** Lets a slow reader read at its own pace. */
  private fallBehind(stream: EventStream, cursor: Cursor): void {
    this.current.delete(stream);
    void stream
      .drained()
      .then(() => (stream.isOpen ? this.catchUp(stream, cursor) : undefined))
      .catch(() => stream.cutOff());
  }

  private forget(stream: EventStream): void {
    this.streams.delete(stream);
    this.current.delete(stream);
  }
}

/** Formats events, and then the cursor in a comment: the database has just been read. */
function textOf({ events, cursor }: AuditPage): string {
  const all = events.map((one) => eventText('message', one.event, one.cursor));
  return `${all.join('')}: ${cursor}\nid: ${cursor}\n\n`;
}

@Controller('audit')
export class AuditStreamsController {
  constructor(private readonly streams: AuditStreams) {}

  /**
   * A stream of audit events
   *
   * Server-sent events without end: a `message` for each audit event, as `GET /audit` has it, and a comment at least every second. How to
   * resume: docs/audit.md.
   *
   * @returns Events, one after the other.
   * @throws OAuthError `slow_down`
   */
  @ServiceKeyOnly('read')
  @Get('stream')
  async auditStream(
    @Req() { method }: Request,
    @Res() response: Response,
    @Headers('last-event-id') lastEventId: string | undefined,
  ): Promise<void> {
    const stream = new EventStream(response);
    if (method !== 'HEAD') return this.streams.open(stream, placeIn(lastEventId) && lastEventId);
    stream.begin();
    response.end(); // the head alone (RFC 9110 §9.3.2)
  }
}
