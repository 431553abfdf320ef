import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Background } from '../../background.js';
import { Events } from '../../events.js';
import { EndedSessionStore, timeOf, type Change } from './ended-sessions.store.js';

/** Every reading covers this time, every second one twice as much, every fourth one four times, … */
const NARROW_MS = 5000;
/** … up to 21 minutes, every 128 s: more than the latest commit (LATEST_MS in the store) and 128 s. */
const WIDEST_MS = 256 * NARROW_MS;
/** Sessions that are cheap to read twice a second: below, every reading covers the widest time. */
const FEW = 200;
/** Longer than a session is read again. */
const REMEMBER_MS = WIDEST_MS + 60_000;

/**
 * Emits `session.ended` for every session that is signed out on any instance, and `claims.changed` for every user whose claims change,
 * and `claims.voided` for such a user who is removed.
 *
 * The time of a sign-out is the start of its transaction, but readings see it after the commit. So readings overlap: after a
 * commit that took t seconds, a session is found within max(0.5 s, t / 4) at most, and of many, each is read about 25 times.
 */
@Injectable()
export class EndedSessions implements OnModuleInit {
  /** Sessions and changes that were read, with their time by `performance.now()`, oldest first. */
  private readonly known = new Map<string, number>();
  /** The database's time of the last reading. */
  private readAt!: number;
  private readings = 0;
  /** Whether the last widest reading found fewer than FEW sessions. */
  private isQuiet = false;

  constructor(
    private readonly store: EndedSessionStore,
    private readonly events: Events,
    private readonly background: Background,
  ) {}

  /** Remembers the sessions that ended before the start, so that they are not emitted: they concern no socket of this instance. */
  async onModuleInit(): Promise<void> {
    await this.readBack(WIDEST_MS, false);
    // Every instance knows of a sign-out within a second, without Redis.
    this.background.repeat('read-ended-sessions', () => this.read());
  }

  /** Whether this instance has read that the session ended: for a listener that begins after the event. */
  includes(sessionId: string): boolean {
    return this.known.has(sessionId);
  }

  /** If a reading fails, the next one covers the same time. */
  private async read(): Promise<void> {
    const nth = this.readings + 1;
    const window = this.isQuiet ? WIDEST_MS : Math.min(NARROW_MS * (nth & -nth), WIDEST_MS);
    const isPrimary = await this.readBack(window, true);
    this.readings = nth;
    this.events.emit('sessions.read', { cursor: isPrimary ? String(this.readAt) : null });
  }

  /**
   * Reads the sessions and changes around the last reading and the present: the clock may have been set back, or be that of another machine.
   * @param window milliseconds to both sides
   * @param emits whether new ones are emitted, or only remembered
   * @returns false on a standby, which may lack sessions
   */
  private async readBack(window: number, emits: boolean): Promise<boolean> {
    const time = await this.store.time();
    const { at, isStandby } = time;
    this.readAt ??= at;
    const from = timeOf(Math.min(at, this.readAt) - window);
    const to = timeOf(Math.max(at, this.readAt) + window);
    let count = 0;
    for await (const page of this.store.between(from, to, time)) {
      if (count > 0) this.events.emit('sessions.read', { cursor: null });
      for (const ended of page)
        if (this.remember(ended.sessionId) && emits) this.events.emit('session.ended', ended);
      count += page.length;
    }
    const isWanted = (change: Change): boolean =>
      emits ? !this.known.has(idOf(change)) : this.remember(idOf(change)) && false;
    for await (const { found, changed, voided = [] } of this.store.changedBetween(from, to, time, isWanted)) {
      if (count > 0) this.events.emit('sessions.read', { cursor: null });
      for (const one of changed) if (this.remember(idOf(one))) this.events.emit('claims.changed', one);
      for (const one of voided)
        if (this.remember(`void ${idOf(one)}`) && emits) this.events.emit('claims.voided', one);
      count += found;
    }
    if (window === WIDEST_MS) this.isQuiet = count < FEW;
    if (!isStandby) this.readAt = at;
    return !isStandby;
  }

  /** @param id of a session, or of a change. @returns whether it is new */
  private remember(id: string): boolean {
    const now = performance.now();
    for (const [known, since] of this.known) {
      if (since > now - REMEMBER_MS) break;
      this.known.delete(known);
    }
    if (this.known.has(id)) return false;
    this.known.set(id, now);
    return true;
  }
}

function idOf({ userId, key }: Change): string {
  return `${userId} ${key}`;
}
