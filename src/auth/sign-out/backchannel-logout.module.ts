import { Module, type DynamicModule } from '@nestjs/common';
import { openIdProviders } from '../../platform/config/providers/presets.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { AuthModule } from '../auth.module.js';
import { backchannelLogoutOf } from './backchannel-logout.controller.js';

/** An endpoint for the logout tokens of each OpenID provider. */
@Module({})
export class BackchannelLogoutModule {
  static forRoot(settings: Settings): DynamicModule {
    return {
      module: BackchannelLogoutModule,
      imports: [AuthModule],
      controllers: openIdProviders(settings).map(backchannelLogoutOf),
    };
  }
}
