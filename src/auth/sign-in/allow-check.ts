import { Injectable } from '@nestjs/common';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { allowFacts, checkAllow } from '../../provider/identity/allow.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { UserStore } from '../../user/user.store.js';
import { type Candidate, type Checked, SignInStep } from '../extensions/sign-in-steps.js';

declare module '../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** For the condition `directory`; absent: no directory was asked. */
    readonly isInDirectory?: boolean;
  }
}

/** Refuses sign-ins that the setting `allow` does not cover (docs/guides/access-policy.md#conditions). */
@Injectable()
@SignInStep({ check: 'rules' })
export class AllowCheck implements SignInStep {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly signOuts: SignOutService,
    private readonly users: UserStore,
  ) {}

  /** Ends the other sessions of a user who is not allowed any more. */
  async check({ provider, identity, userId, origin }: Candidate): Promise<void> {
    const reason = this.reasonToRefuse({ provider, identity });
    if (reason === undefined) return;
    const bySystem = { ...origin, actor: { type: 'system', name: 'allow' } } as const;
    const all = { userId, sessionId: null, deviceId: null };
    await this.users.noteRefusal(userId);
    await this.signOuts.signOut('all', all, bySystem, { cause: 'not_allowed' });
    throw refusal(reason);
  }

  checkAgain(checked: Checked): void {
    const reason = this.reasonToRefuse(checked);
    if (reason !== undefined) throw refusal(reason);
  }

  private reasonToRefuse({ provider, identity }: Pick<Candidate, 'provider' | 'identity'>) {
    const { settings } = this.providers.get(provider);
    if (!settings.allow) return undefined;
    const { isInDirectory } = identity.facts;
    const verdict = checkAllow(settings.allow, { ...allowFacts(identity, settings), isInDirectory });
    return verdict.isAllowed ? undefined : verdict.reason;
  }
}

function refusal(reason: string): OAuthError {
  return new OAuthError('access_denied', 'this account may not sign in', { reason });
}
