import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { DeviceModule } from '../../device/device.module.js';
import { ProviderModule } from '../../provider/provider.module.js';
import { TokenModule } from '../../token/token.module.js';
import { AllowCheck } from './allow-check.js';
import { SessionLimit } from './session-limit.js';

/** Who may sign in, and how many sessions a user may have (docs/guides/access-policy.md). */
@Module({
  imports: [AuthModule, DeviceModule, ProviderModule, TokenModule],
  providers: [AllowCheck, SessionLimit],
})
export class PolicyModule {}
