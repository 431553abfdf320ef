import { Module } from '@nestjs/common';
import { SignInCounts } from '../audit/sign-in-counts.js';
import { StatesModule } from '../auth/states/state.service.js';
import { ChannelModule } from '../channel/channel.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { TokenModule } from '../token/token.module.js';
import { UserModule } from '../user/user.module.js';
import { AdminPageController } from './admin-page.controller.js';
import { OverviewController } from './overview.controller.js';
import { AdminProvidersController } from './providers.controller.js';
import { AdminSessionController } from './session.controller.js';
import { TestSignIns } from './test-sign-ins.js';

/** The administration page (docs/administration.md#turn-it-on) and the interface behind it. */
@Module({
  imports: [ChannelModule, ProviderModule, StatesModule, TokenModule, UserModule],
  controllers: [AdminPageController, AdminProvidersController, AdminSessionController, OverviewController],
  providers: [SignInCounts, TestSignIns],
})
export class AdminModule {}
