import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';
import { UserCount } from './user-count.js';
import { UserRights } from './user-rights.js';
import { UserSearch } from './user-search.js';

@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsStore, ProfileStore, UserCount, UserRights, UserSearch],
  exports: [ClaimsStore, ProfileStore, UserCount, UserRights, UserSearch],
})
export class UserModule {}
