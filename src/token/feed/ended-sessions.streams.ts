import {
  Controller,
  Get,
  Headers,
  Injectable,
  Req,
  Res,
  type BeforeApplicationShutdown,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { Events, type ChangedClaims, type EndedSession, type VoidedClaims } from '../../events.js';
import { answerWithStream, EventStreams, eventText, type EventStream } from '../../http/event-stream.js';
import { ServiceKeyOnly } from '../guard/access.js';
import { EndedSessionStore } from './ended-sessions.store.js';
import { KeyRing } from '../keys/key-ring.js';

/** Comment that shows that the connection is alive. */
const ALIVE = ':\n\n';

/** Characters that are written to a reader at once: about 70 sessions. */
const PIECE = 16 * 1024;
/** Characters that may wait for a reader: about 35,000 sessions. All readers share the pieces, without copies. */
const MOST_WAITING = 8 * 1024 * 1024;

/**
 * Session revocation feed (docs/ended-sessions.md#session-revocation-feed): the streams of this instance. A
 * new stream gets the past from the database. After that, each reading of EndedSessions, twice a second, is
 * sent to all streams, with its cursor.
 */
@Injectable()
export class EndedSessionStreams implements BeforeApplicationShutdown {
  private readonly streams = new EventStreams<Waiting>();
  /** Endings that were found by the reading in progress. */
  private pieces: string[] = [];

  constructor(
    private readonly store: EndedSessionStore,
    private readonly keys: KeyRing,
    events: Events,
  ) {
    events.on('session.ended', (ended) => {
      if (this.streams.open.size > 0) addTo(this.pieces, endedText(ended));
    });
    const addClaims = (userId: string, text: string): void => {
      if (this.streams.open.size > 0) addTo(this.pieces, text);
      for (const { isReady, changed } of this.streams.open.values()) if (!isReady) changed.add(userId);
    };
    events.on('claims.changed', (changed) => addClaims(changed.userId, changedText(changed)));
    events.on('claims.voided', (voided) => addClaims(voided.userId, voidedText(voided)));
    events.on('sessions.read', ({ cursor }) => this.flush(cursor));
    events.on('state.requested', (report) => report({ endedSessionStreams: this.streams.open.size }));
    events.on('key.revoked', ({ kid }) => {
      for (const stream of this.streams.open.keys()) stream.send(revokedText(kid));
    });
  }

  /**
   * Sends past endings, and then new ones, until the reader disconnects.
   * @param lastEventId cursor of the reader
   * @throws OAuthError `slow_down` if too many streams are open, `server_error`, and errors of the database
   */
  open(stream: EventStream, lastEventId: string | undefined): Promise<void> {
    const waiting = new Waiting(stream);
    return this.streams.add(stream, waiting, () => this.sendPast(waiting, lastEventId));
  }

  beforeApplicationShutdown(): void {
    this.streams.stop();
  }

  private async sendPast(waiting: Waiting, lastEventId: string | undefined): Promise<void> {
    const { stream } = waiting;
    const { cursor: latest, pages } = await this.store.past(lastEventId);
    stream.begin();
    stream.send(this.keys.revokedKids.map(revokedText).join(''));
    for await (const { changed, voided = [], ended, cursor } of pages) {
      const id = cursor === null ? '' : `id: ${cursor}\n\n`;
      const others = changed.filter(({ userId }) => !waiting.changed.has(userId));
      const claims = [...others.map(changedText), ...voided.map(voidedText)];
      stream.send(claims.join('') + ended.map(endedText).join('') + id);
      await stream.drained();
      if (!stream.isOpen) return;
    }
    waiting.add([eventText('ready', {}, latest)]);
    waiting.isReady = stream.isOpen;
    waiting.changed.clear();
  }

  /** Sends the endings of a reading to all streams; the cursor only after the past was sent. */
  private flush(cursor: string | null): void {
    const { pieces } = this;
    this.pieces = [];
    const [forReady, forOthers] = cursor === null ? ['', ''] : [`: ${cursor}\nid: ${cursor}\n\n`, ALIVE];
    for (const waiting of this.streams.open.values())
      waiting.add(pieces, waiting.isReady ? forReady : forOthers);
  }
}

@Controller('sessions')
export class EndedSessionsController {
  constructor(private readonly streams: EndedSessionStreams) {}

  /**
   * A stream of ended sessions, revoked keys and changed claims
   *
   * Server-sent events without end: `ended` for each session that was signed out, `key_revoked` for a revoked key, `claims_changed`
   * for a user whose claims have changed, `claims_voided` if such a user was removed, `ready` after past events, and a comment at least every second. Their members, and how to resume: docs/ended-sessions.md.
   *
   * @returns Events, one after the other.
   * @throws OAuthError `slow_down`
   */
  @ServiceKeyOnly('read')
  @Get('ended')
  endedSessions(
    @Req() request: Request,
    @Res() response: Response,
    @Headers('last-event-id') lastEventId: string | undefined,
  ): Promise<void> {
    return answerWithStream(request, response, (stream) => this.streams.open(stream, lastEventId));
  }
}

/** Queue of one reader: the next piece is sent after the reader has read the one before. */
class Waiting {
  /** Whether the past was sent. */
  isReady = false;
  /** Users whose claims were read anew before the past was sent, in which they may have older ones: the last ones count. */
  readonly changed = new Set<string>();
  private readonly pieces: string[] = [];
  private length = 0;
  /** Sent behind the last piece. A slow reader gets only the newest: an older cursor would claim that no ending is missing. */
  private end = '';
  private isSending = false;

  constructor(readonly stream: EventStream) {}

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

/** Adds a text to the last piece, or to a new one if that is full. */
function addTo(pieces: string[], text: string): void {
  const last = pieces.at(-1);
  if (last === undefined || last.length >= PIECE) pieces.push(text);
  else pieces[pieces.length - 1] = last + text;
}

function endedText({ sessionId, userId, deviceId, endedAt, until }: EndedSession): string {
  return eventText('ended', {
    session_id: sessionId,
    user_id: userId,
    device_id: deviceId,
    ended_at: endedAt.toISOString(),
    until: until.toISOString(),
  });
}

function changedText({ userId, claims, changedAt, until }: ChangedClaims): string {
  return eventText('claims_changed', {
    user_id: userId,
    claims,
    changed_at: changedAt.toISOString(),
    until: until.toISOString(),
  });
}

function voidedText({ userId, voidedAt, until }: VoidedClaims): string {
  return eventText('claims_voided', {
    user_id: userId,
    voided_at: voidedAt.toISOString(),
    until: until.toISOString(),
  });
}

function revokedText(kid: string): string {
  return eventText('key_revoked', { kid });
}
