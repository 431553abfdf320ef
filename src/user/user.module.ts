import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';

@Module({
  imports: [ChannelModule],
  controllers: [MeController],
  providers: [ClaimsStore, ProfileStore],
  exports: [ClaimsStore],
})
export class UserModule {}
