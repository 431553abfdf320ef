import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { forEachLimited, chunks } from '../database/statements/concurrency-limit.js';
import { Sql } from '../database/statements/sql.js';
import { Events, type Session } from '../events.js';

const WRITE_EVERY_MS = 5000;

// At most one write per device and minute, on all instances together.
const WRITE = {
  name: 'devices-seen',
  text: `
    WITH seen AS (
      SELECT d.user_id, d.device_id
      FROM unnest($1::uuid[], $2::uuid[]) AS s (user_id, device_id)
      JOIN devices d ON d.user_id = s.user_id AND d.device_id = s.device_id
      WHERE d.last_seen_at < now() - interval '1 minute'
      FOR UPDATE OF d SKIP LOCKED
    )
    UPDATE devices d SET last_seen_at = now() FROM seen
    WHERE d.user_id = seen.user_id AND d.device_id = seen.device_id`,
};
const LARGEST_WRITE = 1000;
// Citus supports `SKIP LOCKED` for rows of one node only.
const WRITE_ONE = {
  name: 'device-seen',
  text: `
    UPDATE devices SET last_seen_at = now()
    WHERE user_id = $1 AND device_id = $2 AND last_seen_at < now() - interval '1 minute'`,
};
/** Sessions that are kept between two writes; a session beyond that is written after its next use. */
const MOST_SEEN = 20_000;

/** Writes the last use of devices every few seconds, instead of on every request. */
@Injectable()
export class LastSeen implements OnApplicationShutdown {
  private readonly logger = new Logger(LastSeen.name);
  private readonly timer: NodeJS.Timeout;
  private seen = new Map<string, Session>();
  private writing = false;

  constructor(
    private readonly sql: Sql,
    events: Events,
  ) {
    events.on('session.used', (session) => {
      if (session.deviceId !== null && this.seen.size < MOST_SEEN) this.seen.set(session.sessionId, session);
    });
    this.timer = setInterval(() => {
      if (!this.writing) void this.write(); // while the database is slow, sessions wait in `seen`, up to its bound
    }, WRITE_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Writes the devices that were used since the last write; if the database is away, they are dropped. */
  async write(): Promise<void> {
    this.writing = true;
    const sessions = [...this.seen.values()];
    this.seen = new Map();
    try {
      await (this.sql.distributed ? this.writeEach(sessions) : this.writeTogether(sessions));
    } catch (error) {
      this.logger.warn({ err: error, msg: 'last_seen_at could not be written' });
    } finally {
      this.writing = false;
    }
  }

  private writeTogether(sessions: readonly Session[]): Promise<void> {
    return forEachLimited(chunks(sessions, LARGEST_WRITE), (some) =>
      this.sql.query(WRITE, [some.map(({ userId }) => userId), some.map(({ deviceId }) => deviceId)]),
    );
  }

  private writeEach(sessions: readonly Session[]): Promise<void> {
    return forEachLimited(sessions, ({ userId, deviceId }) => this.sql.query(WRITE_ONE, [userId, deviceId]));
  }
}
