import { Injectable, Logger } from '@nestjs/common';
import { type Candidate, type Checked, type IdentityChanges, SignInStep } from '../../extensions.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { cleanUserAgent } from '../../platform/http/user-agent.js';
import { describeCuts, layOver } from '../../identity/claim-limits.js';
import { UserStore } from '../../user/user.store.js';
import { AdmissionService } from './admission.service.js';

/** Lets the service at ADMISSION_URL refuse a sign-in, or give it claims. */
@Injectable()
@SignInStep({ check: 'ask' })
export class AdmissionCheck implements SignInStep {
  private readonly logger = new Logger('ProviderClaims');

  constructor(
    private readonly service: AdmissionService,
    private readonly users: UserStore,
  ) {}

  async check(candidate: Candidate): Promise<IdentityChanges> {
    const { provider, identity, userId } = candidate;
    const user = await this.users.find(userId);
    const decision = await this.service.ask(questionOf(candidate, (user?.lastSeenAt ?? null) === null));
    if (!decision.isAllowed) {
      const reason = decision.message === '' ? 'admission' : `admission: ${decision.message}`;
      throw new OAuthError('access_denied', 'this account may not sign in', { reason });
    }
    const { claims, cuts } = layOver(identity.claims, decision.claims);
    if (cuts.length > 0) this.logger.warn(`provider ${provider}, user_id ${userId}: ${describeCuts(cuts)}`);
    return { claims, overlay: decision.claims };
  }

  async checkAgain({ userId, identity }: Checked): Promise<IdentityChanges> {
    const user = await this.users.find(userId);
    return { claims: layOver(identity.claims, user?.identity?.overlay ?? {}).claims };
  }
}

/** @param isNew whether the user has not signed in yet; one may have been made before */
function questionOf({ provider, identity, userId, origin, device }: Candidate, isNew: boolean) {
  const { providerUserId, username, email, claims } = identity;
  return {
    provider,
    provider_user_id: providerUserId,
    user_id: userId,
    new_user: isNew,
    username,
    email,
    claims,
    device_id: device?.device_id?.toLowerCase(),
    device_name: device?.device_name ?? undefined,
    address: origin.address ?? undefined,
    user_agent: cleanUserAgent(device?.user_agent) ?? origin.userAgent,
  };
}
