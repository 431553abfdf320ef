import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { ConcurrencyLimit } from '../platform/database/limits.js';
import { EventStreams, eventText, type EventStream } from '../platform/http/event-stream.js';
import { AuditFeed, type AuditPage, type Cursor } from './audit-feed.js';

const READ_EVERY_MS = 500;

/** Streams of audit events. Each reads the trail twice a second, and at once while there is more. */
@Injectable()
export class AuditStreams implements BeforeApplicationShutdown {
  private readonly logger = new Logger(AuditStreams.name);
  private readonly streams = new EventStreams<null>();
  /** Requests find a connection, also if there are many streams. */
  private readonly readings = new ConcurrencyLimit(1);

  constructor(private readonly feed: AuditFeed) {}

  /**
   * Sends events until the reader disconnects.
   * @param after cursor of the reader; without a valid one, it begins now
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of the database
   */
  open(stream: EventStream, after: Cursor | undefined): Promise<void> {
    return this.streams.add(stream, null, async () => {
      const first = await this.read(after);
      stream.begin();
      void this.follow(stream, first);
    });
  }

  beforeApplicationShutdown(): void {
    this.streams.stop();
  }

  private async follow(stream: EventStream, first: AuditPage): Promise<void> {
    let { cursor } = first;
    for (let page: AuditPage | undefined = first; stream.isOpen; page = await this.tryToRead(cursor)) {
      if (page) {
        stream.send(textOf(page));
        cursor = page.cursor;
        await stream.drained();
      }
      if (!page?.hasMore) await delay(READ_EVERY_MS);
    }
  }

  /** Without a comment, readers know that events may be missing. */
  private async tryToRead(after: Cursor): Promise<AuditPage | undefined> {
    try {
      return await this.read(after);
    } catch (error) {
      this.logger.debug({ err: error });
      return undefined;
    }
  }

  private read(after?: Cursor): Promise<AuditPage> {
    return this.readings.run(() => this.feed.read(after));
  }
}

/** Formats events, and then the cursor in a comment: the database has just been read. */
function textOf({ events, cursor }: AuditPage): string {
  const all = events.map((one) => eventText('message', one.event, one.cursor));
  return `${all.join('')}: ${cursor}\nid: ${cursor}\n\n`;
}
