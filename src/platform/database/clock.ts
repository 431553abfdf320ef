import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Background } from '../background.js';
import { Sql } from './sql.js';

const DATABASE_TIME = {
  name: 'database-time',
  text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
};

/** The database's clock: a wrong clock of an instance does not change the lifetime of its tokens. */
@Injectable()
export class Clock implements OnModuleInit {
  private offsetMs: number | undefined;

  constructor(
    private readonly sql: Sql,
    private readonly background: Background,
  ) {}

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + (this.offsetMs ?? 0);
  }

  async onModuleInit(): Promise<void> {
    await this.measure();
    await this.measure(); // the event loop is busy during the start, so the first answer may be read late
    this.background.repeat('read-clock', () => this.measure());
  }

  /** The answer is from between two local readings, and may be read late: an offset within them stays. */
  private async measure(): Promise<void> {
    const sent = Date.now();
    const [row] = await this.sql.query<{ ms: string }>(DATABASE_TIME, []);
    const [least, most] = [Number(row!.ms) - Date.now(), Number(row!.ms) - sent];
    this.offsetMs = Math.min(Math.max(this.offsetMs ?? (least + most) / 2, least), most);
  }
}
