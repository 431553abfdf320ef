import { Injectable } from '@nestjs/common';
import { countRows } from '../../database/statements/count-rows.js';
import { KeptReading } from '../../database/statements/kept-reading.js';
import { Sql } from '../../database/statements/sql.js';
import { Events } from '../../events.js';
import { LIVING } from './session.sql.js';

const LIVE = `refresh_tokens WHERE ${LIVING}`;
const FRESH_MS = 60_000;

/** Numbers of users and of live sessions: counted at most once a minute, and only on demand. */
@Injectable()
export class Totals {
  readonly users: KeptReading<number>;
  readonly liveSessions: KeptReading<number>;

  constructor(sql: Sql, events: Events) {
    this.users = new KeptReading(() => countRows(sql, 'users-count', 'users'), FRESH_MS);
    this.liveSessions = new KeptReading(() => countRows(sql, 'sessions-count', LIVE), FRESH_MS);
    events.on('total.asked', (report) => {
      report('users', this.users.get());
      report('live_sessions', this.liveSessions.get());
    });
  }
}
