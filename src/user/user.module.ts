import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { UserLocks } from '../audit/user-locks.js';
import { ChannelModule } from '../channel/channel.module.js';
import { Sql } from '../database/sql.js';
import { AdmissionClaims } from './admission-claims.store.js';
import { ClaimsChangesStore } from './claims-changes.store.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { StoredUserLocks } from './stored-user-locks.js';
import { User } from './user.entity.js';
import { UserRights } from './user-rights.js';
import { UserSearch } from './user-search.js';
import { UserStore } from './user.store.js';

const userLocks = {
  provide: UserLocks,
  inject: [Sql],
  useFactory: ({ distributed }: Sql) => new StoredUserLocks(distributed ? 1 : 1000),
};

/** Global, since the audit trail, which lies below, needs UserLocks. */
@Global()
@Module({
  imports: [ChannelModule, TypeOrmModule.forFeature([User])],
  controllers: [MeController],
  providers: [AdmissionClaims, ClaimsChangesStore, ClaimsStore, userLocks, UserRights, UserSearch, UserStore],
  exports: [AdmissionClaims, ClaimsChangesStore, ClaimsStore, UserLocks, UserRights, UserSearch, UserStore],
})
export class UserModule {}
