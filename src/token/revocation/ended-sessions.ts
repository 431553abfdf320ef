import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Events, type EndedSession } from '../../events.js';
import { EndedSessionStore, timeOf } from './ended-sessions.store.js';

/** Twice a second: every instance knows of a sign-out within a second (contract §4), and needs no Redis for it. */
const READ_EVERY_MS = 500;
/** Each reading goes back this far, each second one twice as far, each fourth one four times, … */
const NARROW_MS = 5000;
/** … up to 21 minutes, every 128 s: longer than the latest commit takes (LATEST_MS in the store) and these 128 s. */
const WIDEST_MS = 256 * NARROW_MS;
/** Sessions in a window that are cheap to read twice a second. */
const FEW = 200;
/** How long a session is remembered, at least: longer than it is read again. */
const REMEMBER_MS = WIDEST_MS + 60_000;

/**
 * Emits `session.ended` on this instance for every session that is signed out, on any instance.
 *
 * The time of a sign-out is the beginning of its transaction, and readings see it after the commit. So they overlap: after a
 * commit that took t seconds it is found within max(0.5 s, t / 4). However many sessions a user ends, each is read about 25
 * times; while there are few, every reading goes back as far as the widest one that found few.
 */
@Injectable()
export class EndedSessions implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(EndedSessions.name);
  private readonly told = new Recent(REMEMBER_MS);
  /** The database's time of the last reading. */
  private readAt!: number;
  private readings = 0;
  /** The widest window with few sessions. */
  private quietMs = NARROW_MS;
  private timer?: NodeJS.Timeout;
  private reading = false;

  constructor(
    private readonly store: EndedSessionStore,
    private readonly events: Events,
  ) {}

  /** What has ended before the start concerns no socket and no stream of this instance. */
  async onModuleInit(): Promise<void> {
    await this.readBack(WIDEST_MS, ({ sessionId }) => void this.told.add(sessionId));
    this.timer = setInterval(() => void this.read(), READ_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Whether this instance told of the session's end a moment ago: for a listener that begins after the event. */
  includes(sessionId: string): boolean {
    return this.told.has(sessionId);
  }

  /** Reads which sessions have ended since the last time. When a reading fails, the next one catches up. */
  private async read(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    try {
      const nth = this.readings + 1;
      const ms = Math.min(NARROW_MS * (nth & -nth), WIDEST_MS);
      const isPrimary = await this.readBack(Math.max(ms, this.quietMs), (ended) => this.tell(ended));
      this.readings = nth;
      this.events.emit('sessions.read', { cursor: isPrimary ? String(this.readAt) : null });
    } catch (error) {
      this.logger.debug({ err: error });
    } finally {
      this.reading = false;
    }
  }

  /**
   * Reads from some time before the last reading on. The clock may have been set back since then, or be that of another machine:
   * the window reaches to both sides of both times.
   *
   * @returns whether the database is no standby, which may not know of all
   */
  private async readBack(ms: number, tell: (ended: EndedSession) => void): Promise<boolean> {
    const place = await this.store.place();
    const { at, isStandby } = place;
    this.readAt ??= at;
    const from = timeOf(Math.min(at, this.readAt) - ms);
    const to = timeOf(Math.max(at, this.readAt) + ms);
    let count = 0;
    for await (const page of this.store.between(from, to, place)) {
      if (count > 0) this.events.emit('sessions.read', { cursor: null });
      page.forEach(tell);
      count += page.length;
    }
    if (count < FEW) this.quietMs = ms;
    else if (ms === this.quietMs) this.quietMs = NARROW_MS;
    if (!isStandby) this.readAt = at;
    return !isStandby;
  }

  private tell(ended: EndedSession): void {
    if (this.told.add(ended.sessionId)) this.events.emit('session.ended', ended);
  }
}

/** Texts that were added a moment ago. Two sets take turns, so that forgetting costs nothing for each text. */
export class Recent {
  private young = new Set<string>();
  private old = new Set<string>();
  private turnAt = 0;

  /** @param ms how long each is remembered at least; at most twice that, while others are added */
  constructor(private readonly ms: number) {}

  has(text: string): boolean {
    return this.young.has(text) || this.old.has(text);
  }

  /** @returns whether it is new. One that is not is remembered no longer for it. */
  add(text: string): boolean {
    this.turn(performance.now());
    if (this.has(text)) return false;
    this.young.add(text);
    return true;
  }

  private turn(now: number): void {
    if (now < this.turnAt) return;
    this.old = this.young;
    this.young = new Set();
    this.turnAt = now + this.ms;
  }
}
