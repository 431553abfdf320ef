import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Sql } from '../database/sql.js';
import { Events } from '../events.js';
import { endedOnCluster } from './ended-sessions.distributed.js';
import { endedSince, PLACE, type After, type EndedPage, type Place } from './ended-sessions.store.js';
import { Recent } from './recent.js';

/** Twice a second: every instance knows of a sign-out within a second (contract §4), and needs no Redis for it. */
const READ_EVERY_MS = 500;
/** How long it is remembered who was told, at least: longer than what may be read twice, and than a handshake. */
const REMEMBER_MS = 15_000;
/** Seconds of sign-outs that are read at once: after a pause it is done in parts, each far below a statement's timeout. */
const PART_S = 10;
/** After hours in which nothing happened, which is how an outage looks, ten seconds each would take longer than a second in all. */
const LONGEST_PART_S = 600;
/** As long as a part has fewer, the next one may be longer. */
const FEW = 100;

/** Tells this instance of every session that is signed out, wherever that happened. */
@Injectable()
export class EndedSessions implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(EndedSessions.name);
  private readonly told = new Recent(REMEMBER_MS);
  private place!: Place;
  /** Whether the last reading went well, so that the next one may take the database for the same, with the same clock. */
  private certain = false;
  private partSeconds = PART_S;
  private timer?: NodeJS.Timeout;
  private reading = false;
  private readonly endedSince: typeof endedSince;

  constructor(
    private readonly sql: Sql,
    private readonly events: Events,
  ) {
    this.endedSince = sql.distributed ? endedOnCluster : endedSince;
  }

  async onModuleInit(): Promise<void> {
    const [place] = await this.sql.query<Place>(PLACE, []);
    this.place = place!;
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
      while (!(await this.readOn())); // several times after a long pause
    } catch (error) {
      this.certain = false;
      this.partSeconds = PART_S;
      this.logger.debug({ err: error });
    } finally {
      this.reading = false;
    }
  }

  /** @returns whether all was read that has ended until now, as far as this database knows */
  private async readOn(): Promise<boolean> {
    const read = (after?: After): Promise<EndedPage> =>
      this.endedSince(this.sql, this.place, this.certain, this.partSeconds, after);
    let page = await read();
    const { place } = page;
    let count = this.tell(page);
    while (page.next) {
      this.events.emit('sessions.read', { cursor: null });
      page = await read(page.next);
      count += this.tell(page);
    }
    const { isNow, cursor } = place;
    this.partSeconds = isNow || count >= FEW ? PART_S : Math.min(2 * this.partSeconds, LONGEST_PART_S);
    this.certain = place.snapshot !== null; // a standby's is no place to go on from
    if (this.certain) this.place = place;
    this.events.emit('sessions.read', { cursor: isNow ? cursor : null });
    return isNow || !this.certain;
  }

  private tell({ place: { until }, ended }: EndedPage): number {
    for (const { userId, sessionId, deviceId, endedAt } of ended) {
      if (this.told.add(sessionId))
        this.events.emit('session.ended', { userId, sessionId, deviceId, endedAt, until });
    }
    return ended.length;
  }
}
