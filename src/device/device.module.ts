import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.js';
import { DeviceController } from './device.controller.js';
import { DeviceService } from './device.service.js';
import { LastSeen } from './last-seen.js';
import { SignOutController } from './sign-out.controller.js';

@Module({
  imports: [TokenModule],
  controllers: [DeviceController, SignOutController],
  providers: [DeviceService, LastSeen],
})
export class DeviceModule {}
