import { Injectable } from '@nestjs/common';
import { countRows } from '../../database/statements/count-rows.js';
import { KeptReading } from '../../database/statements/kept-reading.js';
import { Sql } from '../../database/statements/sql.js';
import { Events } from '../../events.js';
import { LIVING } from './session.sql.js';

const LIVE = `refresh_tokens WHERE ${LIVING}`;
const FRESH_MS = 60_000;

/** Number of living sessions, counted at most once a minute, and only if somebody asks. */
@Injectable()
export class LiveSessions {
  private readonly reading: KeptReading<number>;

  constructor(sql: Sql, events: Events) {
    this.reading = new KeptReading(() => countRows(sql, 'sessions-count', LIVE), FRESH_MS);
    events.on('total.asked', (tell) => tell('live_sessions', this.get()));
  }

  get(): Promise<number> {
    return this.reading.get();
  }
}
