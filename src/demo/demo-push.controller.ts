import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { Session } from '../events.js';
import { AnyJson, RequiredText } from '../http/parameters/parameter.js';
import type { Pushed } from '../realtime/push/push.dto.js';
import { RealtimeService } from '../realtime/push/realtime.service.js';
import { Caller } from '../token/guard/access.js';

const TTL = 3600; // seconds

/** Body of POST /demo/push. */
class DemoPushDto {
  /** The prefix distinguishes the page's events from the service's and the application's. */
  @RequiredText({
    matches: { pattern: /^demo\.[A-Za-z0-9_.:-]{1,64}$/, as: 'demo. and letters, digits or _ . : -' },
  })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;
}

@Controller('demo/push')
export class DemoPushController {
  constructor(
    private readonly realtime: RealtimeService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Sends an event to the caller's own channel, as `POST /push` does: a page in a browser must not have a service key. Not in
   * production, where any user could fill the history.
   */
  @Post()
  @HttpCode(202)
  push(@Caller() caller: Session, @Body() { event, data }: DemoPushDto): Promise<Pushed> {
    if (this.settings.production) throw new OAuthError('not_found', 'there is no such path');
    return this.realtime.push(caller.userId, event, data, { ttl: TTL });
  }
}
