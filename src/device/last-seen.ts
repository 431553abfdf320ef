import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { LastUse } from '../database/last-use.js';
import { Sql } from '../database/sql.js';
import { Events, type SessionIds } from '../events.js';
import { SESSION_USE } from '../token/sessions/session.sql.js';
import { USER_USE } from '../user/user.sql.js';
import { DEVICE_USE } from './device.sql.js';

const WRITE_EVERY_MS = 5000;
const LARGEST_WRITE = 1000;
/** Sessions that are kept between two writes; a session beyond that is written after its next use. */
const MOST_SEEN = 20_000;

/** Keys of rows of one table that were used. */
type Used = readonly [use: LastUse, keys: readonly (readonly string[])[]];

/**
 * Writes the last use of sessions, their devices and users every few seconds, instead of on every request. It spans modules: each
 * offers the statements for its table.
 */
@Injectable()
export class LastSeen implements OnApplicationShutdown {
  private readonly logger = new Logger(LastSeen.name);
  private readonly timer: NodeJS.Timeout;
  private seen = new Map<string, SessionIds>();
  private writing = false;

  constructor(
    private readonly sql: Sql,
    events: Events,
  ) {
    events.on('session.used', (session) => this.keep(session));
    events.on('audit.recorded', (recorded) => {
      for (const { event, user_id: userId, session_id: sessionId, device_id: deviceId = null } of recorded) {
        if (event === 'sign_in' && userId && sessionId) this.keep({ userId, sessionId, deviceId });
      }
    });
    this.timer = setInterval(() => {
      if (!this.writing) void this.write(); // while the database is slow, sessions wait in `seen`, up to its bound
    }, WRITE_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Writes what was used since the last write; if the database is away, it is dropped. */
  async write(): Promise<void> {
    this.writing = true;
    const sessions = [...this.seen.values()];
    this.seen = new Map();
    try {
      const { distributed } = this.sql;
      const pieces = usedBy(sessions).flatMap(([use, keys]) =>
        chunks(keys, distributed ? 1 : LARGEST_WRITE).map((some): Used => [use, some]),
      );
      await forEachLimited(pieces, ([use, keys]) =>
        distributed ? this.sql.query(use.one, [...keys[0]!]) : this.sql.query(use.many, columnsOf(keys)),
      );
    } catch (error) {
      this.logger.warn({ err: error, msg: 'the last use of sessions could not be written' });
    } finally {
      this.writing = false;
    }
  }

  private keep(session: SessionIds): void {
    if (this.seen.size < MOST_SEEN) this.seen.set(session.sessionId, session);
  }
}

function usedBy(sessions: readonly SessionIds[]): Used[] {
  const users = new Set(sessions.map(({ userId }) => userId));
  const devices = sessions.flatMap(({ userId, deviceId }) => (deviceId === null ? [] : [[userId, deviceId]]));
  return [
    [SESSION_USE, sessions.map(({ userId, sessionId }) => [userId, sessionId])],
    [DEVICE_USE, devices],
    [USER_USE, [...users].map((userId) => [userId])],
  ];
}

function columnsOf(keys: readonly (readonly string[])[]): string[][] {
  return keys[0]!.map((_, i) => keys.map((key) => key[i]!));
}

function chunks<Item>(items: readonly Item[], most: number): Item[][] {
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, i) => items.slice(i * most, (i + 1) * most));
}

/** Concurrent statements of one writer: less than half of the default pool, so that requests find a connection. */
const LIMIT = 4;
/** So many failures, if they outnumber the successes, end the work: the whole database is unreachable, not one node. */
const MOST_FAILURES = 20;

/**
 * Works on each item, with at most LIMIT at a time. On Citus, a statement for rows of many nodes commits in two phases; one for a
 * single row needs one node.
 * @throws the first error, after the other items, unless most of them fail
 */
export async function forEachLimited<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  let [done, failures] = [0, 0];
  let first: unknown;
  const lane = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await work(item);
        done++;
      } catch (error) {
        first ??= error;
        if (++failures >= MOST_FAILURES && failures > done) return;
      }
    }
  };
  await Promise.all(Array.from({ length: LIMIT }, lane));
  if (failures > 0) throw first;
}
