import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { TokenModule } from '../token/token.module.js';
import { DeviceController } from './device.controller.js';
import { DeviceService } from './device.service.js';
import { LastSeen } from './last-seen.js';
import { SignOutService } from './sign-out.service.js';

@Module({
  imports: [ChannelModule, TokenModule],
  controllers: [DeviceController],
  providers: [DeviceService, LastSeen, SignOutService],
  exports: [SignOutService],
})
export class DeviceModule {}
