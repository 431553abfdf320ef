import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChannelModule } from '../channel/channel.module.js';
import { ClaimsStore } from './claims.store.js';
import { MeController } from './me.controller.js';
import { User } from './user.entity.js';
import { UserRights } from './user-rights.js';
import { UserSearch } from './user-search.js';
import { UserStore } from './user.store.js';

@Module({
  imports: [ChannelModule, TypeOrmModule.forFeature([User])],
  controllers: [MeController],
  providers: [ClaimsStore, UserRights, UserSearch, UserStore],
  exports: [ClaimsStore, UserRights, UserSearch, UserStore],
})
export class UserModule {}
