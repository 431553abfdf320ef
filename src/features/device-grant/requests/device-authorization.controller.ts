import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { type Origin, RequestOrigin } from '../../../audit/audit-event.js';
import { RateLimit } from '../../../platform/http/rate-limit.js';
import { Public } from '../../../platform/http/access.js';
import { DeviceAuthorization, DeviceAuthorizationDto } from './device-authorization.dto.js';
import { DeviceAuthorizations } from './device-authorization.service.js';

@Public()
@Controller('oauth2')
export class DeviceAuthorizationController {
  constructor(private readonly authorizations: DeviceAuthorizations) {}

  /**
   * Begin the sign-in of a device without a browser
   *
   * The device shows `user_code` and the address of the page, and asks `/oauth2/token` with the grant
   * `urn:ietf:params:oauth:grant-type:device_code` every `interval` seconds (RFC 8628).
   *
   * @returns Codes for the device and for the person.
   * @throws OAuthError `unauthorized_client`
   */
  @Post('device_authorization')
  @RateLimit('token')
  @HttpCode(200)
  authorizeDevice(
    @Body() body: DeviceAuthorizationDto,
    @Req() { ip }: Request,
    @RequestOrigin() origin: Origin,
  ): Promise<DeviceAuthorization> {
    return this.authorizations.begin(body, ip, origin);
  }
}
