import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Public } from '../token/access.js';
import { Readiness } from './readiness.js';

export interface Health {
  status: 'ok' | 'stopping' | 'unavailable';
  database: 'up' | 'down';
  /** Only with REDIS_URL. Without it the service goes on, so it does not count for the status (contract §4). */
  redis?: 'up' | 'down';
}

@Public()
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process answers; nothing else is asked. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Requests may be sent here: 200, or 503 while the database cannot be written to or the service is stopping. */
  @Get('ready')
  async ready(@Res({ passthrough: true }) response: Response): Promise<Health> {
    const [database, redis] = await Promise.all([this.readiness.database(), this.readiness.redis()]);
    const status = this.readiness.isStopping ? 'stopping' : database === 'up' ? 'ok' : 'unavailable';
    response.status(status === 'ok' ? 200 : 503);
    return { status, database, ...(redis && { redis }) };
  }
}
