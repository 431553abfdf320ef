import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Background } from '../background.js';
import { forEachLimited, chunks } from '../database/concurrency-limit.js';
import type { LastUse } from '../database/last-use.js';
import { Sql } from '../database/sql.js';
import { Events, type SessionIds } from '../events.js';
import { SESSION_USE } from '../token/sessions/session.sql.js';
import { USER_USE } from '../user/user.sql.js';
import { DEVICE_USE } from './device.sql.js';

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
export class LastSeen implements OnModuleInit {
  private seen = new Map<string, SessionIds>();

  constructor(
    private readonly sql: Sql,
    events: Events,
    private readonly background: Background,
  ) {
    events.on('session.used', (session) => this.keep(session));
    events.on('audit.recorded', (recorded) => {
      for (const { event, user_id: userId, session_id: sessionId, device_id: deviceId = null } of recorded) {
        if (event === 'sign_in' && userId && sessionId) this.keep({ userId, sessionId, deviceId });
      }
    });
  }

  onModuleInit(): void {
    this.background.repeat('write-last-use', () => this.write()); // meanwhile sessions wait in `seen`, up to its bound
  }

  /** Writes what was used since the last write; if the database is away, it is dropped. */
  async write(): Promise<void> {
    const sessions = [...this.seen.values()];
    this.seen = new Map();
    const { distributed } = this.sql;
    const pieces = usedBy(sessions).flatMap(([use, keys]) =>
      chunks(keys, distributed ? 1 : LARGEST_WRITE).map((some): Used => [use, some]),
    );
    await forEachLimited(pieces, ([use, keys]) =>
      distributed ? this.sql.query(use.one, [...keys[0]!]) : this.sql.query(use.many, columnsOf(keys)),
    );
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
