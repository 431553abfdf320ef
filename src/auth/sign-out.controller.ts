import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { SignOutService } from '../device/sign-out.service.js';
import type { Session } from '../events.js';
import { Caller } from '../token/access.js';
import { SignOutDto } from './sign-out.dto.js';

@Controller()
export class SignOutController {
  constructor(private readonly signOuts: SignOutService) {}

  /**
   * Sign out: every session of the caller's device, or the caller's session where it has none (`current`, the default);
   * everything else (`others`); or both (`all`). Devices stay listed (contract §4).
   */
  @Post('sign-out')
  @HttpCode(204)
  async signOut(@Caller() caller: Session, @Body() { scope = 'current' }: SignOutDto): Promise<void> {
    const current = caller.deviceId === null ? 'session' : 'device';
    await this.signOuts.signOut(scope === 'current' ? current : scope, caller);
  }
}
