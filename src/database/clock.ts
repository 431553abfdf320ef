import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Sql } from './sql.js';

const MEASURE_EVERY_MS = 10_000;
const DATABASE_TIME = {
  name: 'database-time',
  text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
};

/**
 * The database's clock (docs/security-model.md#protection-of-a-session): a wrong clock of an instance does
 * not change the lifetime of its tokens.
 */
@Injectable()
export class Clock implements OnModuleInit, OnApplicationShutdown {
  private offsetMs: number | undefined;
  private timer?: NodeJS.Timeout;

  constructor(private readonly sql: Sql) {}

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + (this.offsetMs ?? 0);
  }

  async onModuleInit(): Promise<void> {
    await this.measure();
    await this.measure(); // the event loop is busy during the start, so the first answer may be read late
    // A failed measurement keeps the last offset.
    this.timer = setInterval(() => void this.measure().catch(() => undefined), MEASURE_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /**
   * The answer is from between the two readings of the local clock. An offset within these bounds stays: it
   * may be read late.
   */
  private async measure(): Promise<void> {
    const sent = Date.now();
    const [row] = await this.sql.query<{ ms: string }>(DATABASE_TIME, []);
    const [least, most] = [Number(row!.ms) - Date.now(), Number(row!.ms) - sent];
    this.offsetMs = Math.min(Math.max(this.offsetMs ?? (least + most) / 2, least), most);
  }
}
