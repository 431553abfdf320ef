import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Public } from '../platform/http/access.js';
import { VERSION } from '../platform/http/static-files.js';
import { Readiness } from './readiness.js';

export class Liveness {
  status!: 'ok';
}

export class Health {
  status!: 'ok' | 'stopping' | 'unavailable';

  /** Version of this instance. */
  version!: string;

  database!: 'up' | 'down';

  /** Only with REDIS_URL. Redis does not count for the status, since the service works without it. */
  redis?: 'up' | 'down';
}

@Public()
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /**
   * Whether the process answers
   *
   * @returns It does.
   */
  @Get('live')
  live(): Liveness {
    return { status: 'ok' };
  }

  /**
   * Whether requests may be sent to this instance
   *
   * @returns They may.
   * @returns {503} The database is unavailable or not writable, or the service is stopping.
   */
  @Get('ready')
  async ready(@Res({ passthrough: true }) response: Response): Promise<Health> {
    const [database, redis] = await Promise.all([this.readiness.database(), this.readiness.redis()]);
    const status = this.readiness.isStopping ? 'stopping' : database === 'up' ? 'ok' : 'unavailable';
    response.status(status === 'ok' ? 200 : 503);
    return { status, version: VERSION, database, ...(redis && { redis }) };
  }
}
