import { Injectable } from '@nestjs/common';
import { SignInStep, type SignedIn } from '../../../extensions.js';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { SessionFactsStore } from './session-facts.store.js';

/**
 * Sessions that another session has approved: they begin only while it lives. The proof is kept for the
 * grant, which checks a sign-in on the page again.
 */
@Injectable()
@SignInStep({ after: 'keep', keepsProof: true })
export class ApprovedSessions implements SignInStep {
  constructor(
    private readonly facts: SessionFactsStore,
    private readonly signOuts: SignOutService,
    private readonly sessions: SessionStore,
  ) {}

  /**
   * Keeps who approved, and then looks: the approving session may have ended since the check.
   * @throws OAuthError `access_denied`
   */
  async after(signedIn: SignedIn): Promise<void> {
    await this.facts.keep(signedIn);
    const { identity, session, origin } = signedIn;
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
