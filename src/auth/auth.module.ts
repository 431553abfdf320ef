import { Module } from '@nestjs/common';
import { DeviceModule } from '../device/device.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { TokenModule } from '../token/token.module.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { RevokeController } from './revoke.controller.js';
import { SignInStore } from './sign-in.store.js';
import { SignOutController } from './sign-out.controller.js';
import { StateService } from './state.service.js';

@Module({
  imports: [DeviceModule, ProviderModule, TokenModule],
  controllers: [AuthController, RevokeController, SignOutController],
  providers: [AuthService, SignInStore, StateService],
})
export class AuthModule {}
