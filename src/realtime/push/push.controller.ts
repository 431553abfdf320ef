import { Body, Controller, Headers, HttpCode, Post } from '@nestjs/common';
import { ServiceKeyOnly } from '../../platform/http/access.js';
import { idempotencyKeyOf } from './idempotency-key.js';
import { PushDto, type Pushed } from './push.dto.js';
import { PushService } from './push.service.js';

@Controller('push')
export class PushController {
  constructor(private readonly pushes: PushService) {}

  /**
   * Send an event to a user, or to one of their devices
   *
   * The event waits `ttl` seconds for clients that are not connected. Reserved names: all that begin with
   * `device.`, `session.`, `token.` or `claims.`, and `ready`, `authenticate`, `connect`, `connect_error`,
   * `disconnect`, `disconnecting`, `newListener`, `removeListener`, `error`.
   *
   * @returns Stored.
   * @throws OAuthError `not_found`
   */
  @ServiceKeyOnly('push')
  @Post()
  @HttpCode(202)
  async push(
    @Body() body: PushDto,
    @Headers('authorization') serviceKey: string,
    @Headers('idempotency-key') key?: string,
  ): Promise<Pushed> {
    const { user_id: userId, event, data, device_id: deviceId, ttl } = body;
    return this.pushes.push(userId.toLowerCase(), event, data, {
      deviceId: deviceId?.toLowerCase(),
      ttl,
      idempotencyKey: idempotencyKeyOf(serviceKey, key),
    });
  }
}
