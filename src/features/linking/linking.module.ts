import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { StatesModule } from '../../auth/states/states.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { TokenModule } from '../../token/token.module.js';
import { UserModule } from '../../user/user.module.js';
import { JoinedIdentities } from './identities/joined-identities.store.js';
import { IdentitiesController } from './joining/identities.controller.js';
import { Identities } from './joining/identities.service.js';
import { LinkingSessions } from './joining/linking-session.js';
import { MergeTokens } from './merge/merge-tokens.js';
import { Merges } from './merge/merges.js';
import { JoinedSignIns } from './sign-in/joined-sign-ins.js';
import { UserIdentitiesController } from './support/user-identities.controller.js';

/** One person with accounts at several providers (docs/guides/linking.md). */
@Module({
  imports: [AuthModule, ChannelModule, DeviceModule, ProviderModule, StatesModule, TokenModule, UserModule],
  controllers: [IdentitiesController, UserIdentitiesController],
  providers: [Identities, JoinedIdentities, JoinedSignIns, LinkingSessions, Merges, MergeTokens],
})
export class LinkingModule {}
