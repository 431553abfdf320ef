import { Injectable } from '@nestjs/common';
import { SignInStep, type SignedIn } from '../../../extensions.js';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { SessionStore } from '../../../token/sessions/session.store.js';

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** Session that has approved the sign-in on another device. */
    readonly approvedBy?: string;
  }
}

/** Sessions that another session has approved: they begin only while it lives. */
@Injectable()
@SignInStep({ after: 'keep' })
export class ApprovedSessions implements SignInStep {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly sessions: SessionStore,
  ) {}

  /**
   * Looks again: the approving session may have ended since the check.
   * @throws OAuthError `access_denied`
   */
  async after({ identity, session, origin }: SignedIn): Promise<void> {
    const { approvedBy } = identity.facts;
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
