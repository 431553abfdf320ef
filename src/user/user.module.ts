import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { FormerUsers } from '../audit/search/audit-search.js';
import { UserLocks } from '../audit/user-locks.js';
import { ChannelModule } from '../channel/channel.module.js';
import { replaceable } from '../platform/database/replaceable.js';
import { Sql } from '../platform/database/sql.js';
import { UserLifecycles } from './user-lifecycle.js';
import { ClaimsChangesStore } from './claims-changes.store.js';
import { ClaimsStore } from './claims.store.js';
import { StoredUserLocks } from './lock-user.js';
import { MeController } from './me.controller.js';
import { MOST_CHANGED, UserChanges } from './user-changes.store.js';
import { User } from './user.entity.js';
import { UserSearch } from './search/user-search.js';
import { UserStore } from './user.store.js';

const userLocks = {
  provide: UserLocks,
  inject: [Sql],
  useFactory: ({ distributed }: Sql) => new StoredUserLocks(distributed ? 1 : MOST_CHANGED),
};

/** Global, since the audit trail, which lies below, needs FormerUsers and UserLocks. */
@Global()
@Module({
  imports: [ChannelModule, DiscoveryModule, TypeOrmModule.forFeature([User])],
  controllers: [MeController],
  providers: [
    ClaimsChangesStore,
    ClaimsStore,
    replaceable(UserChanges),
    UserLifecycles,
    userLocks,
    UserSearch,
    UserStore,
    { provide: FormerUsers, useExisting: UserStore },
  ],
  exports: [
    FormerUsers,
    ClaimsChangesStore,
    ClaimsStore,
    UserChanges,
    UserLifecycles,
    UserLocks,
    UserSearch,
    UserStore,
  ],
})
export class UserModule {}
