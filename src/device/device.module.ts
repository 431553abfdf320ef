import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { TokenModule } from '../token/token.module.js';
import { UserModule } from '../user/user.module.js';
import { DeviceController } from './device.controller.js';
import { DeviceService } from './device.service.js';
import { DeviceStore } from './device.store.js';
import { LastUseWriter } from './last-use-writer.js';
import { SignOutService } from './sign-out.service.js';

@Module({
  imports: [ChannelModule, TokenModule, UserModule],
  controllers: [DeviceController],
  providers: [DeviceService, DeviceStore, LastUseWriter, SignOutService],
  exports: [DeviceService, DeviceStore, SignOutService],
})
export class DeviceModule {}
