import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { TokenModule } from '../../token/token.module.js';
import { UserModule } from '../../user/user.module.js';
import { CheckStore } from './check.store.js';
import { ProviderTokens } from './provider-tokens.js';
import { Recheck } from './recheck.js';
import { RecheckSignIns } from './recheck-sign-ins.js';
import { Rechecks } from './rechecks.js';

/** Asks providers again while sessions are in use (docs/guides/recheck.md). */
@Module({
  imports: [AuthModule, ChannelModule, DeviceModule, ProviderModule, TokenModule, UserModule],
  providers: [CheckStore, ProviderTokens, Recheck, Rechecks, RecheckSignIns],
})
export class RecheckModule {}
