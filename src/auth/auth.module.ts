import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { DeviceModule } from '../device/device.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { TokenModule } from '../token/token.module.js';
import { AuthController } from './auth.controller.js';
import { AuthService, SignInRefusals } from './auth.service.js';
import { AuthorizationCodes } from './clients/authorization-codes.js';
import { ClientAuthorization } from './clients/client-authorization.js';
import { ClientCallbackController } from './clients/client-callback.controller.js';
import { ClientCallback } from './clients/client-callback.js';
import { ClientExchange } from './clients/client-exchange.js';
import { ClientStates } from './clients/client-states.js';
import { ProviderLogout } from './sign-out/provider-logout.js';
import { RevokeController } from './sign-out/revoke.controller.js';
import { ServerMetadataController } from './server-metadata.controller.js';
import { SignInStore } from './sign-in/sign-in.store.js';
import { SignOutController } from './sign-out/sign-out.controller.js';
import { StateService } from './states/state.service.js';
import { TokenIssuer } from './sign-in/token-issuer.js';
import { UsersController } from './users/users.controller.js';
import { UsersService } from './users/users.service.js';

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
