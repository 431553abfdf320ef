import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { SETTINGS } from '../config/settings/settings.module.js';
import type { Settings } from '../config/settings/settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { RealtimeService } from '../realtime/push/realtime.service.js';
import { Caller } from '../token/guard/access.js';
import { DemoPushDto } from './demo-push.dto.js';
import type { Pushed } from '../realtime/push/push.dto.js';

const TTL = 3600; // seconds

@Controller('demo/push')
export class DemoPushController {
  constructor(
    private readonly realtime: RealtimeService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Sends an event to the caller's own channel: what `POST /push` does, for a page in a browser, which must not have a
   * service key. Not in production, where anybody with an account could fill the history.
   */
  @Post()
  @HttpCode(202)
  push(@Caller() caller: Session, @Body() { event, data }: DemoPushDto): Promise<Pushed> {
    if (this.settings.production) throw new OAuthError('not_found', 'there is no such path');
    return this.realtime.push(caller.userId, event, data, { ttl: TTL });
  }
}
