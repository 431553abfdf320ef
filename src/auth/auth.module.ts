import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { DeviceModule } from '../device/device.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { TokenModule } from '../token/token.module.js';
import { AuthController } from './auth.controller.js';
import { AuthService } from './auth.service.js';
import { AuthorizationCodes } from './clients/authorization-codes.js';
import { ClientAuthorization } from './clients/client-authorization.js';
import { ClientCallbackController } from './clients/client-callback.controller.js';
import { ClientCallback } from './clients/client-callback.js';
import { ClientExchange } from './clients/client-exchange.js';
import { ClientStates } from './clients/client-states.js';
import { ProviderLogout } from './provider-logout.js';
import { RevokeController } from './revoke.controller.js';
import { ServerMetadataController } from './server-metadata.controller.js';
import { SignInRefusals } from './sign-in-refusals.js';
import { SignInStore } from './sign-in.store.js';
import { SignOutController } from './sign-out.controller.js';
import { StateService } from './state.service.js';
import { TokenIssuer } from './token-issuer.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [ChannelModule, DeviceModule, ProviderModule, TokenModule],
  controllers: [
    AuthController,
    ClientCallbackController,
    RevokeController,
    ServerMetadataController,
    SignOutController,
    UsersController,
  ],
  providers: [
    AuthService,
    AuthorizationCodes,
    ClientAuthorization,
    ClientCallback,
    ClientExchange,
    ClientStates,
    ProviderLogout,
    SignInRefusals,
    SignInStore,
    StateService,
    TokenIssuer,
    UsersService,
  ],
})
export class AuthModule {}
