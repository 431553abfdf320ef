import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { DeviceModule } from '../device/device.module.js';
import { ProviderModule } from '../provider/provider.module.js';
import { AllowCheck } from './allow-check.js';

/** Who may sign in (docs/guides/access-policy.md). */
@Module({ imports: [AuthModule, DeviceModule, ProviderModule], providers: [AllowCheck] })
export class PolicyModule {}
