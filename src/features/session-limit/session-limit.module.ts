import { Module } from '@nestjs/common';
import { DeviceModule } from '../../device/device.module.js';
import { TokenModule } from '../../token/token.module.js';
import { SessionLimit } from './session-limit.js';

@Module({ imports: [DeviceModule, TokenModule], providers: [SessionLimit] })
export class SessionLimitModule {}
