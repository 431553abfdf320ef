import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { DeviceModule } from '../device/device.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { TokenModule } from '../token/token.module.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { ProviderLogout } from './provider-logout.js';
import { RevokeController } from './revoke.controller.js';
import { SignInStore } from './sign-in.store.js';
import { SignOutController } from './sign-out.controller.js';
import { StateService } from './state.service.js';
import { TokenIssuer } from './token-issuer.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [ChannelModule, DeviceModule, ProviderModule, TokenModule],
  controllers: [AuthController, RevokeController, SignOutController, UsersController],
  providers: [AuthService, ProviderLogout, SignInStore, StateService, TokenIssuer, UsersService],
})
export class AuthModule {}
