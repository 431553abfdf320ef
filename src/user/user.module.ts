import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsChangesStore } from './claims-changes.store.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';
import { UserRights } from './user-rights.js';
import { UserSearch } from './user-search.js';

@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsChangesStore, ClaimsStore, ProfileStore, UserRights, UserSearch],
  exports: [ClaimsChangesStore, ClaimsStore, ProfileStore, UserRights, UserSearch],
})
export class UserModule {}
