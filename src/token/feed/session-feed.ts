import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Background } from '../../platform/background.js';
import { newSince } from '../../platform/database/commit-reader.js';
import { Events } from '../../platform/events.js';
import { SessionFeedStore, toMs, toTime, type ChangeId, type FeedMoment } from './session-feed.store.js';

/** Time before the new rows that each reading covers again. */
const OVERLAP_MS = 5000;
/** More than the latest commit (LATEST_MS in the store), and two minutes. */
const WIDE_MS = 20 * 60_000;
/**
 * One reading in two minutes is wide, for rows of no listed transaction (platform/database/commit-reader.ts).
 */
const WIDE_EVERY = 240;
/** Longer than a session is read again. */
const REMEMBER_MS = WIDE_MS + 60_000;

/**
 * Emits `session.ended` for every session that is signed out on any instance, `claims.changed` for every user
 * with changed claims, and `claims.voided` if such a user is removed: at the first reading after the commit
 * (platform/database/commit-reader.ts). The audit trail waits for the horizon; the feed reads beyond it and
 * needs no order, since each sign-out must be known within a second. Each session is read about ten times.
 */
@Injectable()
export class SessionFeed implements OnModuleInit {
  /** Sessions and changes that were read, with their time by `performance.now()`, oldest first. */
  private readonly known = new Map<string, number>();
  /** Last reading of a primary. */
  private last!: FeedMoment;
  private readings = 0;

  constructor(
    private readonly store: SessionFeedStore,
    private readonly events: Events,
    private readonly background: Background,
  ) {}

  /** Remembers what ended before the start without emitting it: it concerns no socket of this instance. */
  async onModuleInit(): Promise<void> {
    await this.readBack(WIDE_MS, false);
    // Every instance knows of a sign-out within a second, without Redis.
    this.background.repeat('read-ended-sessions', () => this.read());
  }

  /** Whether this instance has read that the session ended: for a listener that begins after the event. */
  includes(sessionId: string): boolean {
    return this.known.has(sessionId);
  }

  /** If a reading fails, the next one covers its time, too. */
  private async read(): Promise<void> {
    const nth = this.readings + 1;
    const isPrimary = await this.readBack(nth % WIDE_EVERY === 0 ? WIDE_MS : OVERLAP_MS, true);
    this.readings = nth;
    this.events.emit('sessions.read', { cursor: isPrimary ? String(toMs(this.last.at)) : null });
  }

  /**
   * Reads what may be new, by the clock of now and of the last reading: the clock may have been set back, or
   * another machine's.
   * @param overlap milliseconds to both sides
   * @param emits whether new ones are emitted, or only remembered
   * @returns false on a standby, which may lack sessions
   */
  private async readBack(overlap: number, emits: boolean): Promise<boolean> {
    const moment = await this.store.moment();
    this.last ??= moment;
    const [now, last] = [toMs(moment.at), toMs(this.last.at)];
    // At most WIDE_MS, though a transaction may be open for days: what was forgotten is not emitted again.
    const since = Math.max(toMs(newSince(this.last, moment)), last - WIDE_MS);
    const from = toTime(Math.min(since, Math.min(now, last) - overlap));
    const to = toTime(Math.max(now, last) + overlap);
    const isNew = (change: ChangeId): boolean =>
      emits ? !this.known.has(idOf(change)) : this.remember(idOf(change)) && false;
    let hasMore = false;
    for await (const page of this.store.pages({ from, to, until: moment.until }, isNew)) {
      if (hasMore) this.events.emit('sessions.read', { cursor: null });
      const { changed = [], voided = [], ended = [] } = page;
      for (const one of changed) if (this.remember(idOf(one))) this.events.emit('claims.changed', one);
      for (const one of voided)
        if (this.remember(`void ${idOf(one)}`) && emits) this.events.emit('claims.voided', one);
      for (const one of ended)
        if (this.remember(one.sessionId) && emits) this.events.emit('session.ended', one);
      hasMore ||= changed.length + voided.length + ended.length > 0;
    }
    if (!moment.isStandby) this.last = moment;
    return !moment.isStandby;
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

function idOf({ userId, key }: ChangeId): string {
  return `${userId} ${key}`;
}
