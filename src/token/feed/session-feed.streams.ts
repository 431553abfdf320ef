import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Events, type ChangedClaims, type EndedSession, type VoidedClaims } from '../../platform/events.js';
import { EventStreams, eventText, type EventStream } from '../../platform/http/event-stream.js';
import { KeyRing } from '../keys/key-ring.js';
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
  /** What the reading in progress has found. */
  private pieces: string[] = [];
  /** The same without claims. */
  private endings: string[] = [];

  constructor(
    private readonly store: SessionFeedStore,
    private readonly keys: KeyRing,
    events: Events,
  ) {
    events.on('session.ended', (ended) => {
      if (this.streams.open.size === 0) return;
      const text = formatEnded(ended);
      addToPieces(this.pieces, text);
      addToPieces(this.endings, text);
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
   * @param withClaims whether the reader gets changes of claims
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of the database
   */
  open(stream: EventStream, lastEventId: string | undefined, withClaims = true): Promise<void> {
    const queue = new ReaderQueue(stream, withClaims);
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
      const claims = queue.withClaims ? [...others.map(formatChanged), ...voided.map(formatVoided)] : [];
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
    const { pieces, endings } = this;
    [this.pieces, this.endings] = [[], []];
    const [forReady, forOthers] = cursor === null ? ['', ''] : [`: ${cursor}\nid: ${cursor}\n\n`, ALIVE];
    for (const queue of this.streams.open.values()) {
      queue.add(queue.withClaims ? pieces : endings, queue.isReady ? forReady : forOthers);
    }
  }
}

/** Adds a text to the last piece, or to a new one if that is full. */
function addToPieces(pieces: string[], text: string): void {
  const last = pieces.at(-1);
  if (last === undefined || last.length >= PIECE) pieces.push(text);
  else pieces[pieces.length - 1] = last + text;
}

// Events of the session feed (docs/ended-sessions.md#session-revocation-feed). JSON has a Date as RFC 3339,
// UTC.

function formatEnded({ sessionId, userId, deviceId, endedAt, cause, until }: EndedSession): string {
  const ids = { session_id: sessionId, user_id: userId, device_id: deviceId };
  return eventText('ended', { ...ids, ended_at: endedAt, ...(cause !== null && { cause }), until });
}

function formatChanged({ userId, claims, changedAt, until }: ChangedClaims): string {
  return eventText('claims_changed', { user_id: userId, claims, changed_at: changedAt, until });
}

function formatVoided({ userId, voidedAt, until }: VoidedClaims): string {
  return eventText('claims_voided', { user_id: userId, voided_at: voidedAt, until });
}

function formatRevoked(kid: string): string {
  return eventText('key_revoked', { kid });
}

/** Characters that may wait for a reader: about 35,000 sessions. Readers share the pieces, without copies. */
const MOST_WAITING = 8 * 1024 * 1024;

/** Queue of a reader of the session feed: a piece is sent after the reader has read the one before. */
export class ReaderQueue {
  /** Whether the past was sent. */
  isReady = false;
  /** Users whose newer claims were queued before the past was sent: the past may have older ones. */
  readonly changed = new Set<string>();
  private readonly pieces: string[] = [];
  private length = 0;
  /** Sent behind the last piece; only the newest: an older cursor would skip endings that still wait. */
  private end = '';
  private isSending = false;

  constructor(
    readonly stream: EventStream,
    readonly withClaims = true,
  ) {}

  add(pieces: readonly string[], end = ''): void {
    if (pieces.length > 0 || end !== '') this.end = end;
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.length += piece.length;
    }
    if (this.length > MOST_WAITING) this.stream.cutOff();
    if (!this.isSending) void this.send();
  }

  private async send(): Promise<void> {
    this.isSending = true;
    while (this.stream.isOpen && (this.pieces.length > 0 || this.end !== '')) {
      if (this.stream.isFull) await this.stream.drained();
      const piece = this.pieces.shift() ?? '';
      this.length -= piece.length;
      const isLast = this.pieces.length === 0;
      this.stream.send(isLast ? piece + this.end : piece);
      if (isLast) this.end = '';
    }
    this.isSending = false;
  }
}
