import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Sql } from '../database/sql.js';
import { Events, type Session } from '../events.js';

/** Twice a second: every instance knows of a sign-out within a second (contract §4), and needs no Redis for it. */
const READ_EVERY_MS = 500;
/** Seconds that a transaction may take from its `now()` until others see it. What is read again is not told again. */
const OVERLAP_S = 10;

const NOW = { name: 'ended-sessions-now', text: 'SELECT now()::text AS now' };

// SQL by hand: every instance asks twice a second. Every row carries the time of reading; where no session has ended, one
// row carries only that. As text, because a Date would lose the microseconds.
const READ = {
  name: 'ended-sessions',
  text: `
    SELECT now()::text AS now, user_id AS "userId", session_id AS "sessionId", device_id AS "deviceId"
    FROM (SELECT) AS one
    LEFT JOIN refresh_tokens ON signed_out_at >= $1::timestamptz - make_interval(secs => ${OVERLAP_S})`,
};

/** Tells this instance of every session that is signed out, wherever that happened. */
@Injectable()
export class EndedSessions implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(EndedSessions.name);
  private readonly told = new Map<string, number>();
  private readUntil = '';
  private timer?: NodeJS.Timeout;
  private reading = false;

  constructor(
    private readonly sql: Sql,
    private readonly events: Events,
  ) {}

  async onModuleInit(): Promise<void> {
    const [row] = await this.sql.query<{ now: string }>(NOW, []);
    this.readUntil = row!.now;
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
      const rows = await this.sql.query<Session & { now: string }>(READ, [this.readUntil]);
      this.readUntil = rows[0]!.now;
      for (const { userId, sessionId, deviceId } of rows) {
        if (sessionId !== null) this.tell({ userId, sessionId, deviceId });
      }
      this.forget();
    } catch (error) {
      this.logger.debug({ err: error });
    } finally {
      this.reading = false;
    }
  }

  private tell(session: Session): void {
    const known = this.told.has(session.sessionId);
    this.told.set(session.sessionId, Date.now());
    if (!known) this.events.emit('session.ended', session);
  }

  /** Keeps only what the next reading may bring again; insertion order is not time order, so all are looked at. */
  private forget(): void {
    const before = Date.now() - 3 * OVERLAP_S * 1000;
    for (const [sessionId, at] of this.told) if (at < before) this.told.delete(sessionId);
  }
}
