import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Sql } from './sql.js';

const MEASURE_EVERY_MS = 10_000;
/** An offset is known to half of the time that its measurement took. Longer ones, as where this process stood still, are made anew. */
const LONGEST_MS = 1000;
const TRIES = 3;
const DATABASE_TIME = {
  name: 'database-time',
  text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
};

/**
 * The database's clock, which all instances share (contract §5): each one measures how far its own is off,
 * so that tokens of an instance with a wrong clock are valid for the same time everywhere.
 */
@Injectable()
export class Clock implements OnModuleInit, OnApplicationShutdown {
  private offsetMs: number | undefined;
  private timer?: NodeJS.Timeout;

  constructor(private readonly sql: Sql) {}

  /** Milliseconds since the epoch, by the database's clock. */
  now(): number {
    return Date.now() + (this.offsetMs ?? 0);
  }

  async onModuleInit(): Promise<void> {
    await this.measure();
    // A measurement that fails keeps the last offset: the next one comes soon enough.
    this.timer = setInterval(() => void this.measure().catch(() => undefined), MEASURE_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Where no try is exact, the offset that there is stays. */
  private async measure(): Promise<void> {
    for (let left = TRIES; left > 0; left--) {
      const sent = Date.now();
      const [row] = await this.sql.query<{ ms: string }>(DATABASE_TIME, []);
      const answered = Date.now();
      const isExact = Math.abs(answered - sent) <= LONGEST_MS; // it may have been set back meanwhile
      if (isExact || this.offsetMs === undefined) this.offsetMs = Number(row!.ms) - (sent + answered) / 2;
      if (isExact) return;
    }
  }
}
