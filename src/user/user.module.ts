import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';
import { UserSearch } from './user-search.js';

@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsStore, ProfileStore, UserSearch],
  exports: [ClaimsStore, UserSearch],
})
export class UserModule {}
