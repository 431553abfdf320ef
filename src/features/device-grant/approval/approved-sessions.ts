import { Injectable, type OnModuleInit } from '@nestjs/common';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SignInChecks, type SignedIn } from '../../../auth/sign-in/sign-in-checks.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { SessionFactsStore, type ApprovedIdentity } from './session-facts.store.js';

/** Sessions that another session has approved: they begin only while it lives. */
@Injectable()
export class ApprovedSessions implements OnModuleInit {
  constructor(
    private readonly facts: SessionFactsStore,
    private readonly signOuts: SignOutService,
    private readonly sessions: SessionStore,
    private readonly checks: SignInChecks,
  ) {}

  onModuleInit(): void {
    // before MAX_SESSIONS ends the approver
    this.checks.addFirstFollower((signedIn) => this.follow(signedIn));
  }

  /**
   * Keeps who approved, and then looks: the approving session may have ended since the check.
   * @throws OAuthError `access_denied`
   */
  private async follow(signedIn: SignedIn): Promise<void> {
    await this.facts.keep(signedIn);
    const { identity, session, origin } = signedIn;
    const { approvedBy } = identity as Partial<ApprovedIdentity>;
    if (approvedBy === undefined) return;
    if (await this.sessions.isLive({ userId: session.userId, sessionId: approvedBy })) return;
    const bySystem = { ...origin, actor: systemOrigin().actor } as const;
    await this.signOuts.signOut('session', session, bySystem, { cause: 'provider_ended' });
    throw approverEnded();
  }
}

export function approverEnded(): OAuthError {
  return new OAuthError('access_denied', 'the session that approved the request has ended');
}
