import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type Candidate, SignInStep, type SignedIn, UserLifecycle } from '../../../extensions.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { hashOfName } from '../../../token/sessions/recent-ends.js';
import { signalProviders } from '../provider-events.settings.js';
import { AccountStates } from './account-states.store.js';
import { MeantUsers } from './meant-users.js';

type Known = Pick<Candidate, 'provider' | 'identity'>;

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** When a directory has last let the user in: milliseconds since the epoch. */
    readonly activeSince?: number;
  }
}

/** What signals mean for sign-ins: disabled accounts are refused. */
@Injectable()
@SignInStep({ check: 'rules', after: 'judge' })
@UserLifecycle()
export class SignalSignIns implements SignInStep, UserLifecycle {
  private readonly known: ReadonlySet<string>;

  constructor(
    private readonly accounts: AccountStates,
    private readonly meant: MeantUsers,
    private readonly signOuts: SignOutService,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.known = new Set(signalProviders(settings));
  }

  /**
   * Refuses a disabled account, unless the directory has let the user in since.
   * @throws OAuthError `access_denied`
   */
  async check({ provider, identity: { subject, facts } }: Known): Promise<void> {
    if (!this.known.has(provider) || subject === null) return;
    const since = await this.accounts.disabledSince(hashOfName(provider, subject));
    if (since === undefined || (facts.activeSince ?? 0) > since) return;
    throw new OAuthError('access_denied', 'this account may not sign in', { reason: 'signal' });
  }

  /** Looks again: a signal may have been committed since the check. */
  async after({ provider, identity, session, origin }: SignedIn): Promise<void> {
    try {
      await this.check({ provider, identity });
    } catch (error) {
      const bySignal = { ...origin, actor: { type: 'signal', name: provider } } as const;
      await this.signOuts.signOut('session', session, bySignal, { cause: 'signal' });
      throw error;
    }
  }

  async permitted(manager: EntityManager, userId: string): Promise<boolean> {
    return this.accounts.permit(manager, userId, await this.meant.subjectsOf(manager, userId));
  }

  /** Sign-ins stay refused while the account is disabled. */
  async removed(manager: EntityManager, userId: string): Promise<boolean> {
    return this.accounts.keepDisabled(manager, userId, await this.meant.subjectsOf(manager, userId));
  }
}
