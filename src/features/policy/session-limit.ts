import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { SignInChecks, type SignedIn } from '../../auth/sign-in/sign-in-checks.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { SessionStore } from '../../token/sessions/session.store.js';

/**
 * Ends the sessions of a user beyond `MAX_SESSIONS` (docs/guides/session-length.md#number-of-sessions). It
 * counts after the sign-in was committed: of concurrent sign-ins, the last one finds all.
 */
@Injectable()
export class SessionLimit implements OnModuleInit {
  constructor(
    private readonly checks: SignInChecks,
    private readonly sessions: SessionStore,
    private readonly signOuts: SignOutService,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'maxSessions'>,
  ) {}

  onModuleInit(): void {
    const { maxSessions } = this.settings;
    if (maxSessions !== undefined) this.checks.addFollower((signedIn) => this.enforce(signedIn, maxSessions));
  }

  private async enforce({ session, origin }: SignedIn, most: number): Promise<void> {
    const { userId } = session;
    const counts = await this.sessions.countLive([userId], most + 1);
    if ((counts.get(userId) ?? 0) <= most) return;
    const bySystem = { ...origin, actor: { type: 'system', name: 'MAX_SESSIONS' } } as const;
    await this.signOuts.endExcess(session, most, bySystem);
  }
}
