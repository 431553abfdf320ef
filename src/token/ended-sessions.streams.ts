import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type EndedSession } from '../events.js';
import { EventStream, eventText } from '../http/event-stream.js';
import { PastEndings } from './ended-sessions.past.js';
import { KeyService } from './key.service.js';

const MOST = 100;
const RETRY_AFTER_S = '5';

/** A comment, to show that the connection lives. */
const ALIVE = ':\n\n';

/** The streams of this instance that tell of ended sessions and withdrawn keys (contract §8). */
@Injectable()
export class EndedSessionStreams implements BeforeApplicationShutdown {
  /** All of them hear what happens now … */
  private readonly streams = new Set<EventStream>();
  /** … and these were told the past. */
  private readonly ready = new Set<EventStream>();
  /** Of the reading under way. */
  private text = '';
  private stopping = false;

  constructor(
    private readonly past: PastEndings,
    private readonly keys: KeyService,
    events: Events,
  ) {
    events.on('session.ended', (ended) => {
      if (this.streams.size > 0) this.text += endedText(ended);
    });
    events.on('sessions.read', ({ cursor }) => this.tell(cursor));
    events.on('state.asked', (tell) => tell({ endedSessionStreams: this.streams.size }));
    events.on('key.revoked', ({ kid }) => {
      for (const stream of this.streams) stream.send(revokedText(kid));
    });
  }

  /**
   * Tells of what has ended, and then of what ends, until the reader goes.
   * @param lastEventId cursor of the reader
   * @throws OAuthError `slow_down` when there are too many streams; `server_error`, and errors of the database
   */
  async open(stream: EventStream, lastEventId: string | undefined): Promise<void> {
    if (this.stopping) throw new OAuthError('server_error', 'the service is stopping');
    if (this.streams.size >= MOST) {
      throw new OAuthError('slow_down', 'too many streams are open', {
        headers: { 'Retry-After': RETRY_AFTER_S },
      });
    }
    this.streams.add(stream); // before the past is read, so that nothing is missed between the two
    stream.onClose(() => this.forget(stream));
    try {
      await this.tellPast(stream, lastEventId);
    } finally {
      // `close` is not said again of an answer that was closed before it came here.
      if (!this.ready.has(stream)) this.forget(stream);
    }
  }

  /** When the listener has closed (contract §8): the readers go on from their cursors elsewhere. */
  beforeApplicationShutdown(): void {
    this.stopping = true;
    for (const stream of this.streams) stream.end();
  }

  private async tellPast(stream: EventStream, lastEventId: string | undefined): Promise<void> {
    const { place, pages } = await this.past.begin(lastEventId);
    stream.begin();
    stream.send(this.keys.revokedKids.map(revokedText).join(''));
    for await (const { ended, cursor } of pages) {
      stream.send(ended.map(endedText).join('') + `id: ${cursor}\n\n`);
      await stream.drained();
      if (!stream.isOpen) return;
    }
    stream.send(eventText('ready', {}, place));
    if (stream.isOpen) this.ready.add(stream);
  }

  /** Tells all streams what was read: one text for all. Only those who know the past may go on from here. */
  private tell(cursor: string | null): void {
    const { text } = this;
    this.text = '';
    const [toReady, toOthers] =
      cursor === null ? [text, text] : [`${text}: ${cursor}\nid: ${cursor}\n\n`, text + ALIVE];
    for (const stream of this.streams) stream.send(this.ready.has(stream) ? toReady : toOthers);
  }

  private forget(stream: EventStream): void {
    this.streams.delete(stream);
    this.ready.delete(stream);
  }
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

function revokedText(kid: string): string {
  return eventText('key_revoked', { kid });
}
