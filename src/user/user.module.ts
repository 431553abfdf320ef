import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';
import { UserCount } from './user-count.js';

@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsStore, ProfileStore, UserCount],
  exports: [ClaimsStore, ProfileStore, UserCount],
})
export class UserModule {}
