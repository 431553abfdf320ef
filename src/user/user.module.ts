import { Module } from '@nestjs/common';
import { MeController } from './me.controller.js';
import { ProfileStore } from './profile.store.js';

@Module({
  controllers: [MeController],
  providers: [ProfileStore],
})
export class UserModule {}
