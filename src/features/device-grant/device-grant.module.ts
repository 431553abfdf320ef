import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { DeviceModule } from '../../device/device.module.js';
import { RealtimeModule } from '../../realtime/realtime.module.js';
import { TokenModule } from '../../token/token.module.js';
import { UserModule } from '../../user/user.module.js';
import { ApprovedSessions } from './approval/approved-sessions.js';
import { DeviceRequestsController } from './approval/device-requests.controller.js';
import { DeviceRequests } from './approval/device-requests.service.js';
import { DevicePageController } from './page/device-page.controller.js';
import { DevicePage } from './page/device-page.service.js';
import { DeviceCodes, UserCodes } from './requests/codes.js';
import { DeviceAuthorizationController } from './requests/device-authorization.controller.js';
import { DeviceAuthorizations } from './requests/device-authorization.service.js';
import { DeviceDecisions } from './requests/device-decisions.js';
import { DeviceGrant } from './requests/device-grant.js';
import { DeviceRequestStore } from './requests/device-request.store.js';

/** Sign-in of devices without a browser (RFC 8628; docs/device-sign-in.md). */
@Module({
  imports: [AuthModule, DeviceModule, RealtimeModule, TokenModule, UserModule],
  controllers: [DeviceAuthorizationController, DevicePageController, DeviceRequestsController],
  providers: [
    ApprovedSessions,
    DeviceAuthorizations,
    DeviceCodes,
    DeviceDecisions,
    DeviceGrant,
    DevicePage,
    DeviceRequests,
    DeviceRequestStore,
    UserCodes,
  ],
})
export class DeviceGrantModule {}
