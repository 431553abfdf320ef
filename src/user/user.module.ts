import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditStore } from '../audit/audit.store.js';
import { UserLocks } from '../audit/user-locks.js';
import { ChannelModule } from '../channel/channel.module.js';
import { Clock } from '../platform/database/clock.js';
import { Sql } from '../platform/database/sql.js';
import { UserLifecycles } from './user-lifecycle.js';
import { ClaimsChangesStore } from './claims-changes.store.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { StoredUserLocks } from './stored-user-locks.js';
import { CitusUserChanges } from './user-changes.citus.js';
import { UserChanges } from './user-changes.store.js';
import { User } from './user.entity.js';
import { UserSearch } from './user-search.js';
import { UserStore } from './user.store.js';

const userLocks = {
  provide: UserLocks,
  inject: [Sql],
  useFactory: ({ distributed }: Sql) => new StoredUserLocks(distributed ? 1 : 1000),
};

const userChanges = {
  provide: UserChanges,
  inject: [Sql, AuditStore, Clock],
  useFactory: ({ distributed }: Sql, ...others: [AuditStore, Clock]): UserChanges =>
    distributed ? new CitusUserChanges(...others) : new UserChanges(...others),
};

/** Global, since the audit trail, which lies below, needs UserLocks. */
@Global()
@Module({
  imports: [ChannelModule, DiscoveryModule, TypeOrmModule.forFeature([User])],
  controllers: [MeController],
  providers: [ClaimsChangesStore, ClaimsStore, userChanges, UserLifecycles, userLocks, UserSearch, UserStore],
  exports: [ClaimsChangesStore, ClaimsStore, UserChanges, UserLifecycles, UserLocks, UserSearch, UserStore],
})
export class UserModule {}
