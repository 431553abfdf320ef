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
import { ConcurrencyLimit } from '../database/statements/concurrency-limit.js';
import { answerWithStream, EventStreams, eventText, type EventStream } from '../http/event-stream.js';
import { ServiceKeyOnly } from '../token/guard/access.js';
import { placeIn } from '../http/parameters/cursor.js';
import { AuditFeed, isBefore, type AuditPage, type Cursor } from './audit-feed.js';

const READ_EVERY_MS = 500;

interface Progress {
  /** Cursor of a stream that is up to date. */
  current?: Cursor | undefined;
}

/** Streams of audit events (contract §9). Streams without a backlog share a reading, twice a second; others read a page at a time. */
@Injectable()
export class AuditStreams implements BeforeApplicationShutdown {
  private readonly logger = new Logger(AuditStreams.name);
  private readonly streams = new EventStreams<Progress>();
  /** Cursor of the last shared reading; undefined if there are no streams. */
  private cursor: Cursor | undefined;
  private readonly readings = new ConcurrencyLimit(1);

  constructor(private readonly feed: AuditFeed) {}

  /**
   * Sends events until the reader disconnects.
   * @param after cursor of the reader; without a valid one, it begins now
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of the database
   */
  open(stream: EventStream, after: Cursor | undefined): Promise<void> {
    const state: Progress = {};
    return this.streams.add(stream, state, () => this.catchUp(stream, state, after));
  }

  beforeApplicationShutdown(): void {
    this.streams.stop();
  }

  /** Sends what is behind a cursor, until the stream is up to date. */
  private async catchUp(stream: EventStream, state: Progress, after?: Cursor): Promise<void> {
    let cursor = after;
    for (;;) {
      const page = await this.readings.run(() => this.feed.read(cursor));
      stream.begin();
      stream.send(textOf(page));
      cursor = page.cursor;
      await stream.drained();
      if (!stream.isOpen) return;
      if (!page.hasMore && !(this.cursor && isBefore(cursor, this.cursor))) break;
    }
    state.current = cursor;
    if (this.cursor !== undefined) return;
    this.cursor = cursor;
    void this.readOn();
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
      if (this.streams.open.size === 0) this.cursor = undefined;
    }
  }

  private async readNew(): Promise<void> {
    for (let hasMore = true; hasMore;) {
      const before = this.cursor!;
      const page = await this.feed.read(before);
      const isSetBack = isBefore(page.cursor, before);
      const all = textOf(page);
      for (const [stream, state] of this.streams.open) {
        const cursor = state.current;
        if (cursor === undefined || (!isSetBack && isBefore(page.cursor, cursor))) continue; // its own reading is or was later
        state.current = page.cursor;
        if (stream.isFull) this.fallBehind(stream, state, isSetBack ? page.cursor : cursor);
        else if (cursor === before || isSetBack) stream.send(all);
        else
          stream.send(textOf({ ...page, events: page.events.filter((one) => isBefore(cursor, one.cursor)) }));
      }
      this.cursor = page.cursor;
      hasMore = page.hasMore;
    }
  }

  private fallBehind(stream: EventStream, state: Progress, cursor: Cursor): void {
    state.current = undefined;
    void stream
      .drained()
      .then(() => (stream.isOpen ? this.catchUp(stream, state, cursor) : undefined))
      .catch(() => stream.cutOff());
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
  auditStream(
    @Req() request: Request,
    @Res() response: Response,
    @Headers('last-event-id') lastEventId: string | undefined,
  ): Promise<void> {
    const after = placeIn(lastEventId) && lastEventId;
    return answerWithStream(request, response, (stream) => this.streams.open(stream, after));
  }
}
