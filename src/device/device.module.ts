import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.js';
import { DeviceController } from './device.controller.js';
import { DeviceService } from './device.service.js';
import { LastSeen } from './last-seen.js';

@Module({
  imports: [TokenModule],
  controllers: [DeviceController],
  providers: [DeviceService, LastSeen],
})
export class DeviceModule {}
