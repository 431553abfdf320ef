import { Body, Controller, Get, Headers, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import type { SessionIds } from '../../../platform/events.js';
import { Caller } from '../../../platform/http/access.js';
import { DecideDto, DeviceRequestList } from './device-requests.dto.js';
import { DeviceRequests } from './device-requests.service.js';

@Controller('me/device-requests')
export class DeviceRequestsController {
  constructor(private readonly requests: DeviceRequests) {}

  /**
   * List the devices that ask to be signed in as the caller
   *
   * With `DEVICE_GRANT=push`: open requests with the caller as `login_hint`.
   *
   * @returns Newest first, three at most.
   */
  @Get()
  listDeviceRequests(@Caller() { userId }: SessionIds): Promise<DeviceRequestList> {
    return this.requests.list(userId);
  }

  /**
   * Approve or deny the request of a device
   *
   * `user_code` is the code that the device shows, or the `request_id` of a request that names the caller;
   * then an approval needs the `number` that the device shows, and another number denies the request. If the
   * session is bound, the call needs a `DPoP` proof of its key. If the provider reports when users
   * authenticate, that must be within five minutes.
   *
   * @returns Nothing.
   * @throws OAuthError `not_found`, `access_denied`, `insufficient_user_authentication`, `invalid_dpop_proof`
   */
  @Post(':user_code')
  @HttpCode(204)
  async decideOnDevice(
    @Param('user_code') code: string,
    @Body() body: DecideDto,
    @Caller() caller: SessionIds,
    @Req() { ip, verified }: Request,
    @RequestOrigin() origin: Origin,
    @Headers('dpop') header?: string,
  ): Promise<void> {
    const path = `/me/device-requests/${encodeURIComponent(code)}` as const;
    const { acr = null, amr = null } = verified!.claims;
    const authentication = { acr, amr };
    await this.requests.decide(code, body, { caller, ip, origin, proof: { header, path }, authentication });
  }
}
