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
import { StoredUserLocks } from './lock-user.js';
import { MeController } from './me.controller.js';
import { MOST_CHANGED, UserChanges } from './user-changes.store.js';
import { User } from './user.entity.js';
import { UserSearch } from './user-search.js';
import { UserStore } from './user.store.js';

/** Users that one statement locks: on Citus, rows of one node only. */
const mostLocked = ({ distributed }: Sql): number => (distributed ? 1 : MOST_CHANGED);

const userLocks = {
  provide: UserLocks,
  inject: [Sql],
  useFactory: (sql: Sql) => new StoredUserLocks(mostLocked(sql)),
};

const userChanges = {
  provide: UserChanges,
  inject: [Sql, AuditStore, Clock],
  useFactory: (sql: Sql, ...others: [AuditStore, Clock]) => new UserChanges(...others, mostLocked(sql)),
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
