import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Events } from '../../platform/events.js';
import { EventStreams, eventText, type EventStream } from '../../platform/http/event-stream.js';
import { KeyRing } from '../keys/key-ring.js';
import { formatChanged, formatEnded, formatRevoked, formatVoided } from './feed-events.js';
import { ReaderQueue } from './reader-queue.js';
import { SessionFeedStore } from './session-feed.store.js';

/** Comment that shows that the connection is alive. */
const ALIVE = ':\n\n';

/** Characters that are written to a reader at once: about 70 sessions. */
const PIECE = 16 * 1024;

/**
 * Streams of the session feed on this instance (docs/ended-sessions.md#session-revocation-feed). A new stream
 * gets the past from the database, and then each reading of SessionFeed, twice a second, with its cursor.
 */
@Injectable()
export class SessionFeedStreams implements BeforeApplicationShutdown {
  private readonly streams = new EventStreams<ReaderQueue>();
  /** Endings that were found by the reading in progress. */
  private pieces: string[] = [];

  constructor(
    private readonly store: SessionFeedStore,
    private readonly keys: KeyRing,
    events: Events,
  ) {
    events.on('session.ended', (ended) => {
      if (this.streams.open.size > 0) addToPieces(this.pieces, formatEnded(ended));
    });
    const addClaims = (userId: string, text: string): void => {
      if (this.streams.open.size > 0) addToPieces(this.pieces, text);
      for (const { isReady, changed } of this.streams.open.values()) if (!isReady) changed.add(userId);
    };
    events.on('claims.changed', (changed) => addClaims(changed.userId, formatChanged(changed)));
    events.on('claims.voided', (voided) => addClaims(voided.userId, formatVoided(voided)));
    events.on('sessions.read', ({ cursor }) => this.flush(cursor));
    events.on('state.requested', (report) => report({ endedSessionStreams: this.streams.open.size }));
    events.on('key.revoked', ({ kid }) => {
      for (const stream of this.streams.open.keys()) stream.send(formatRevoked(kid));
    });
  }

  /**
   * Sends past endings, and then new ones, until the reader disconnects.
   * @param lastEventId cursor of the reader
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of the database
   */
  open(stream: EventStream, lastEventId: string | undefined): Promise<void> {
    const queue = new ReaderQueue(stream);
    return this.streams.add(stream, queue, () => this.sendPast(queue, lastEventId));
  }

  beforeApplicationShutdown(): void {
    this.streams.stop();
  }

  private async sendPast(queue: ReaderQueue, lastEventId: string | undefined): Promise<void> {
    const { stream } = queue;
    const { cursor: latest, pages } = await this.store.past(lastEventId);
    stream.begin();
    stream.send(this.keys.revokedKids.map(formatRevoked).join(''));
    for await (const { changed = [], voided = [], ended = [], cursor } of pages) {
      const id = cursor === null ? '' : `id: ${cursor}\n\n`;
      const others = changed.filter(({ userId }) => !queue.changed.has(userId));
      const claims = [...others.map(formatChanged), ...voided.map(formatVoided)];
      stream.send(claims.join('') + ended.map(formatEnded).join('') + id);
      await stream.drained();
      if (!stream.isOpen) return;
    }
    queue.add([eventText('ready', {}, latest)]);
    queue.isReady = stream.isOpen;
    queue.changed.clear();
  }

  /** Sends the endings of a reading to all streams; the cursor only after the past was sent. */
  private flush(cursor: string | null): void {
    const { pieces } = this;
    this.pieces = [];
    const [forReady, forOthers] = cursor === null ? ['', ''] : [`: ${cursor}\nid: ${cursor}\n\n`, ALIVE];
    for (const queue of this.streams.open.values()) queue.add(pieces, queue.isReady ? forReady : forOthers);
  }
}

/** Adds a text to the last piece, or to a new one if that is full. */
function addToPieces(pieces: string[], text: string): void {
  const last = pieces.at(-1);
  if (last === undefined || last.length >= PIECE) pieces.push(text);
  else pieces[pieces.length - 1] = last + text;
}
