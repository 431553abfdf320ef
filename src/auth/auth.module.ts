import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ChannelModule } from '../channel/channel.module.js';
import { replaceable } from '../platform/database/replaceable.js';
import { DeviceModule } from '../device/device.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { TokenModule } from '../token/token.module.js';
import { AllowCheck } from './sign-in/allow-check.js';
import { AuthController } from './auth.controller.js';
import { CallbackErrorController } from './callback-error.controller.js';
import { AuthService } from './auth.service.js';
import { AuthorizationCodes } from './clients/authorization-codes.js';
import { ClientCallbackController } from './clients/client-callback.controller.js';
import { ClientSignIns } from './clients/client-sign-ins.js';
import { ProviderLogouts, SignOutController } from './sign-out/sign-out.controller.js';
import { UserRemoval } from './sign-out/user-removal.js';
import { RevokeController } from './sign-out/revoke.controller.js';
import { ServerMetadataController } from './server-metadata.controller.js';
import { SignInSteps } from './extensions/sign-in-steps.js';
import { SignInRefusals } from './sign-in/sign-in-refusals.js';
import { SignInStore } from './sign-in/sign-in.store.js';
import { SealedIdentities } from './sealed-identities.js';
import { StatesModule } from './states/states.module.js';
import { TokenGrants } from './extensions/token-grants.js';
import { SignInService } from './sign-in/sign-in.service.js';
import { UserModule } from '../user/user.module.js';

@Module({
  imports: [
    ChannelModule,
    DeviceModule,
    DiscoveryModule,
    ProviderModule,
    StatesModule,
    TokenModule,
    UserModule,
  ],
  controllers: [
    AuthController,
    CallbackErrorController,
    ClientCallbackController,
    RevokeController,
    ServerMetadataController,
    SignOutController,
  ],
  providers: [
    AllowCheck,
    AuthService,
    AuthorizationCodes,
    ClientSignIns,
    ProviderLogouts,
    SealedIdentities,
    UserRemoval,
    SignInSteps,
    SignInRefusals,
    replaceable(SignInStore),
    TokenGrants,
    SignInService,
  ],
  exports: [
    AuthorizationCodes,
    SealedIdentities,
    SignInRefusals,
    SignInService,
    SignInSteps,
    TokenGrants,
    UserRemoval,
  ],
})
export class AuthModule {}
