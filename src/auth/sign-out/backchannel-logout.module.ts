import { Module, type DynamicModule } from '@nestjs/common';
import { ChannelModule } from '../../channel/channel.module.js';
import type { Settings } from '../../config/settings/settings.js';
import { DeviceModule } from '../../device/device.module.js';
import { openIdProviders } from '../../provider/presets.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { backchannelLogoutOf } from './backchannel-logout.controller.js';
import { BackchannelLogout } from './backchannel-logout.service.js';

/** Where providers of OpenID Connect send their logout tokens. */
@Module({})
export class BackchannelLogoutModule {
  static with(settings: Settings): DynamicModule {
    return {
      module: BackchannelLogoutModule,
      imports: [ChannelModule, DeviceModule, ProviderModule],
      controllers: openIdProviders(settings).map(backchannelLogoutOf),
      providers: [BackchannelLogout],
    };
  }
}
