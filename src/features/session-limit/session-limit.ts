import { Inject, Injectable, Module } from '@nestjs/common';
import { SignInStep, type SignedIn } from '../../extensions.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { isOfProgram } from '../../platform/http/parameters/uuid.js';
import { DeviceModule } from '../../device/device.module.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { TokenModule } from '../../token/token.module.js';

/**
 * Ends the sessions of a user beyond `MAX_SESSIONS` (docs/guides/session-length.md#number-of-sessions). It
 * counts after the sign-in was committed: of concurrent sign-ins, the last one finds all.
 */
@Injectable()
@SignInStep({ after: 'limit' })
class SessionLimit implements SignInStep {
  constructor(
    private readonly sessions: SessionStore,
    private readonly signOuts: SignOutService,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'maxSessions'>,
  ) {}

  async after({ session, origin }: SignedIn): Promise<void> {
    if (isOfProgram(session.deviceId)) return;
    const most = this.settings.maxSessions!; // else there is no such module
    const { userId } = session;
    const counts = await this.sessions.countLive([userId], most + 1);
    if ((counts.get(userId) ?? 0) <= most) return;
    const bySystem = { ...origin, actor: { type: 'system', name: 'MAX_SESSIONS' } } as const;
    await this.signOuts.endExcess(session, most, bySystem);
  }
}

@Module({ imports: [DeviceModule, TokenModule], providers: [SessionLimit] })
export class SessionLimitModule {}
