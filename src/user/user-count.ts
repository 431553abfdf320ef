import { Injectable } from '@nestjs/common';
import { countRows } from '../database/statements/count-rows.js';
import { KeptReading } from '../database/statements/kept-reading.js';
import { Sql } from '../database/statements/sql.js';
import { Events } from '../events.js';

const FRESH_MS = 60_000;

/** Number of users, counted at most once a minute, and only if somebody asks. */
@Injectable()
export class UserCount {
  private readonly reading: KeptReading<number>;

  constructor(sql: Sql, events: Events) {
    this.reading = new KeptReading(() => countRows(sql, 'users-count', 'users'), FRESH_MS);
    events.on('total.asked', (tell) => tell('users', this.get()));
  }

  get(): Promise<number> {
    return this.reading.get();
  }
}
