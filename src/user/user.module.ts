import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';
import { UserRights } from './user-rights.js';
import { UserSearch } from './user-search.js';
import { UserStore } from './user.store.js';

@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsStore, ProfileStore, UserRights, UserSearch, UserStore],
  exports: [ClaimsStore, ProfileStore, UserRights, UserSearch, UserStore],
})
export class UserModule {}
