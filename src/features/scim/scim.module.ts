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
import { DirectoryRights } from './effect/directory-claims.js';
import { DirectoryEffects } from './effect/directory-effects.js';
import { DirectorySignIns } from './effect/directory-sign-ins.js';
import { DirectoryState } from './effect/directory-state.entity.js';
import { DirectoryStates } from './effect/directory-state.store.js';
import { DirectoryTasks } from './effect/directory-tasks.js';
import { UnnamedSessions } from './effect/unnamed-sessions.js';
import { DirectoryMember } from './groups/directory-group.entity.js';
import { DirectoryMembers } from './groups/directory-member.store.js';
import { ScimGroups } from './groups/scim-groups.js';
import { ScimController } from './protocol/scim.controller.js';
import { ScimResources } from './resources/scim-resources.js';
import { ScimUsers } from './users/scim-users.js';

/** Directories of providers, by SCIM 2.0 (docs/directory.md). */
@Module({
  imports: [
    AuthModule,
    ChannelModule,
    DeviceModule,
    ProviderModule,
    TokenModule,
    TypeOrmModule.forFeature([DirectoryActivity, DirectoryState, DirectoryMember]),
  ],
  controllers: [SynchronisationController, ScimController],
  providers: [
    DirectoryActivities,
    DirectoryEffects,
    DirectoryMembers,
    DirectoryRights,
    DirectorySignIns,
    DirectoryStates,
    DirectoryTasks,
    ScimGroups,
    ScimResources,
    ScimUsers,
    UnnamedSessions,
  ],
})
export class ScimModule {}
