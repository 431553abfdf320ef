import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../../../audit/audit.store.js';
import { knownIdentity } from '../../../auth/sign-in/known-identity.js';
import { APPROVED } from '../../../auth/sign-in/sign-in-columns.js';
import { endedMeanwhile } from '../../../auth/sign-in/sign-in.store.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { SignInStep, type Candidate, type SignedIn, type Verified } from '../../../extensions.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import type { IdentityFacts } from '../../../provider/identity/identity.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';
import { JoinedIdentities } from '../identities/joined-identities.store.js';
import { Identities, toJoined } from '../joining/identities.service.js';

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** The person has proved another identity, which is joined to this one. */
    readonly isJoined?: true;
    /** The provider was asked about the user just now. */
    readonly isRechecked?: true;
    /** For the condition `directory`; absent: no directory was asked. */
    readonly isInDirectory?: boolean;
    /** A provider lets a program act for the user. */
    readonly isAsserted?: true;
  }
}

/** Sign-ins by joined identities: the rules of the user's own identity hold as well. */
@Injectable()
@SignInStep({ check: 'ask', after: 'keep' })
export class JoinedSignIns implements SignInStep {
  constructor(
    private readonly identities: JoinedIdentities,
    private readonly joining: Identities,
    private readonly users: UserStore,
    private readonly signOuts: SignOutService,
    private readonly sessions: SessionStore,
    private readonly audit: AuditStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @returns the user as the last sign-in by their own identity knew them: the other one brings no claims */
  async joined(verified: Verified, userId: string, { isAsserted }: IdentityFacts): Promise<Verified> {
    const { provider, identity, ...begin } = verified;
    const [user, link] = await Promise.all([
      this.users.find(userId),
      this.identities.findOne(deriveUserId(provider, identity.providerUserId)),
    ]);
    // They were removed, and sign-ins stay refused.
    if (!user) throw new OAuthError('access_denied', 'the user is suspended');
    // A sign-in from before the merge was one of another user.
    if (link?.userId !== userId || link.linkedAt.getTime() > begin.requestedAt) throw endedMeanwhile();
    this.joining.requireLink(user, provider);
    // A provider lets programs act for its own users only.
    if (isAsserted) throw new OAuthError('access_denied', 'not for a joined identity');
    if (user.identity?.isRefused) throw signInFirst('own identity was refused');
    const { authTime, sessionExpiry } = identity;
    return {
      provider: user.provider,
      identity: { ...knownIdentity(user), authTime, sessionExpiry, facts: { isJoined: true } },
      ...begin,
      joined: { provider, identity },
    };
  }

  /**
   * Without it, nothing says whether the account still exists at its own provider.
   * @throws OAuthError `access_denied` if the user's own sign-in was too long ago
   */
  async check({ provider, identity, userId }: Candidate): Promise<void> {
    const { isJoined, isRechecked, isInDirectory } = identity.facts;
    if (!isJoined || isRechecked || isInDirectory) return;
    const { refreshTokenTtl: ttl } = this.settings;
    const { providerUserId } = identity;
    if (await this.sessions.hasBegun(userId, ttl)) return;
    if (await this.audit.hasSignIn(userId, { provider, providerUserId }, ttl, APPROVED)) return;
    throw signInFirst('own sign-in too long ago');
  }

  /** Looks again: the identity may have been parted since the check. */
  async after({ joined, identity, session, origin }: SignedIn): Promise<void> {
    if (!joined) return;
    const named = toJoined(session.userId, joined);
    // Its provider was not asked about a device that another session has approved.
    const { isJoined: isNamedNow } = identity.facts;
    if (await (isNamedNow ? this.identities.rename(named) : this.identities.has(named))) return;
    await this.signOuts.signOut('session', session, origin, { cause: 'unlinked' });
    throw endedMeanwhile();
  }
}

function signInFirst(reason: string): OAuthError {
  return new OAuthError('access_denied', 'sign in by your own identity first', { reason });
}
