import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Public } from '../token/guard/access.js';
import { Health, Liveness } from './health.js';
import { Readiness } from './readiness.js';

@Public()
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** The process answers; nothing else is asked. */
  @Get('live')
  live(): Liveness {
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
