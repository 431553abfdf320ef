import { Injectable } from '@nestjs/common';
import { SignInStep, type SignedIn, type Verified } from '../../../extensions.js';
import { systemOrigin } from '../../../audit/audit-event.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { knownIdentity } from '../../../auth/sign-in/known-identity.js';
import type { Identity } from '../../../provider/identity/identity.js';
import { SessionStore, type SessionKey } from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** Session that has approved the sign-in on another device. */
    readonly approvedBy?: string;
  }
}

/** Sessions that another session has approved: they begin only while it lives. */
@Injectable()
@SignInStep({ after: 'judge' })
export class ApprovedSessions implements SignInStep {
  constructor(
    private readonly signOuts: SignOutService,
    private readonly sessions: SessionStore,
    private readonly users: UserStore,
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

  /**
   * Returns the user as the last sign-in knew them, with the claims of now; the new session ends with the one
   * that approved.
   * @param approvedAt milliseconds since the epoch
   * @throws OAuthError `access_denied` if the session has ended
   */
  async identityOf(
    key: SessionKey,
    { acr, amr }: Pick<Identity, 'acr' | 'amr'>,
    approvedAt: number,
  ): Promise<Verified> {
    const [session, isLive, user] = await Promise.all([
      this.sessions.find(key),
      this.sessions.isLive(key),
      this.users.find(key.userId),
    ]);
    const id = session?.joinedIdentityId;
    const joined = id ? await this.users.findAny(id) : undefined;
    if (!session || !isLive || !user || joined === null) throw approverEnded();
    const { provider } = user;
    const identity: Identity = {
      ...knownIdentity(user), // its session at the provider: see `restsOn`
      authTime: session.authTime && session.authTime.getTime() / 1000,
      acr,
      amr,
      sessionExpiry: Math.floor(session.expiresAt.getTime() / 1000),
      facts: { approvedBy: key.sessionId },
    };
    const begunAt = session.createdAt.getTime();
    return {
      provider,
      identity,
      requestedAt: approvedAt,
      begunAt,
      restsOn: session,
      ...(joined && { joined: { provider: joined.provider, identity: knownIdentity(joined) } }),
    };
  }
}

function approverEnded(): OAuthError {
  return new OAuthError('access_denied', 'the session that approved the request has ended');
}
