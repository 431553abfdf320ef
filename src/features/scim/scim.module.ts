import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/auth.module.js';
import { ChannelModule } from '../../channel/channel.module.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { TokenModule } from '../../token/token.module.js';
import { DirectoryActivity } from './activity/directory-activity.entity.js';
import { DirectoryActivities } from './activity/directory-activity.js';
import { SynchronisationController } from './activity/synchronisation.controller.js';
import { Synchronisations } from './activity/synchronisations.js';
import { DirectoryRights } from './effect/directory-claims.js';
import { DirectoryEffects } from './effect/directory-effects.js';
import { DirectoryNames } from './effect/directory-name.store.js';
import { DirectorySignIns } from './effect/directory-sign-ins.js';
import { DirectoryState } from './effect/directory-state.entity.js';
import { DirectoryStates } from './effect/directory-state.store.js';
import { DirectoryTasks } from './effect/directory-tasks.js';
import { UnnamedSessions } from './effect/unnamed-sessions.js';
import { DirectoryGroup } from './groups/directory-group.entity.js';
import { DirectoryGroupStore } from './groups/directory-group.store.js';
import { DirectoryMember } from './groups/directory-member.entity.js';
import { DirectoryMembers } from './groups/directory-member.store.js';
import { ScimGroupsController } from './groups/scim-groups.controller.js';
import { ScimGroups } from './groups/scim-groups.service.js';
import { DiscoveryController } from './protocol/discovery.controller.js';
import { SearchController } from './protocol/search.controller.js';
import { DirectoryFormerName } from './users/directory-former-name.entity.js';
import { DirectoryUser } from './users/directory-user.entity.js';
import { DirectoryUserStore } from './users/directory-user.store.js';
import { ScimUsersController } from './users/scim-users.controller.js';
import { ScimUsers } from './users/scim-users.service.js';

/** Directories of providers, by SCIM 2.0 (docs/directory.md). */
@Module({
  imports: [
    AuthModule,
    ChannelModule,
    DeviceModule,
    ProviderModule,
    TokenModule,
    TypeOrmModule.forFeature([
      DirectoryActivity,
      DirectoryState,
      DirectoryUser,
      DirectoryFormerName,
      DirectoryGroup,
      DirectoryMember,
    ]),
  ],
  // the last has the rest
  controllers: [
    SynchronisationController,
    ScimUsersController,
    ScimGroupsController,
    SearchController,
    DiscoveryController,
  ],
  providers: [
    DirectoryActivities,
    DirectoryEffects,
    DirectoryGroupStore,
    DirectoryMembers,
    DirectoryNames,
    DirectoryRights,
    DirectorySignIns,
    DirectoryStates,
    DirectoryTasks,
    DirectoryUserStore,
    ScimGroups,
    ScimUsers,
    Synchronisations,
    UnnamedSessions,
  ],
})
export class ScimModule {}
