import { Module, type DynamicModule } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { StatesModule } from '../../auth/states/states.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { TokenModule } from '../../token/token.module.js';
import { UserModule } from '../../user/user.module.js';
import { AdminPageController } from './admin-page.controller.js';
import { NamedTrail } from './named-trail.js';
import { OverviewController } from './overview.controller.js';
import { AdminProvidersController } from './providers.controller.js';
import { AdminSessionController } from './session.controller.js';
import { TestSignIns } from './test-sign-ins.js';
import { TrailController } from './trail.controller.js';
import { UserRights } from './user-rights.js';
import { UserCreation } from './users/user-creation.js';
import { UserDirectory } from './users/user-directory.js';
import { UserExports } from './users/user-export.js';
import { UsersController } from './users/users.controller.js';
import { UsersService } from './users/users.service.js';

/** Controllers of the administration page (docs/administration.md#turn-it-on). */
const PAGE = [
  AdminPageController,
  AdminProvidersController,
  AdminSessionController,
  OverviewController,
  TrailController,
];

/** `/users`, and the administration page with the interface behind it. */
@Module({
  imports: [
    AuditModule,
    AuthModule,
    ChannelModule,
    DeviceModule,
    ProviderModule,
    StatesModule,
    TokenModule,
    UserModule,
  ],
  controllers: [UsersController],
  providers: [NamedTrail, TestSignIns, UserCreation, UserDirectory, UserExports, UserRights, UsersService],
})
export class AdministrationModule {
  static forRoot({ adminEnabled }: Settings): DynamicModule {
    return { module: AdministrationModule, controllers: adminEnabled ? PAGE : [] };
  }
}
