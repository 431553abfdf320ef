import { Global, Module } from '@nestjs/common';
import { UserLocks } from '../audit/user-locks.js';
import { ChannelModule } from '../channel/channel.module.js';
import { Sql } from '../database/sql.js';
import { ClaimsChangesStore } from './claims-changes.store.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';
import { StoredUserLocks } from './stored-user-locks.js';
import { UserRights } from './user-rights.js';
import { UserSearch } from './user-search.js';

const userLocks = {
  provide: UserLocks,
  inject: [Sql],
  useFactory: ({ distributed }: Sql) => new StoredUserLocks(distributed ? 1 : 1000),
};

/** Global, since the audit trail, which lies below, needs UserLocks. */
@Global()
@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsChangesStore, ClaimsStore, ProfileStore, userLocks, UserRights, UserSearch],
  exports: [ClaimsChangesStore, ClaimsStore, ProfileStore, UserLocks, UserRights, UserSearch],
})
export class UserModule {}
