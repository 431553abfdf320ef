import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { AuditStore } from '../../audit/audit.store.js';
import { SignInSteps } from '../../auth/extensions/sign-in-steps.js';
import { StateService, testState, type PendingSignIn } from '../../auth/states/state.service.js';
import { SETTINGS, type ProviderSettings, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { deriveUserId } from '../../identity/user-id.js';
import { allowFacts, checkAllow } from '../../provider/identity/allow.js';
import { findingsOf } from '../../provider/identity/claim-findings.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { Claims } from '../../provider/identity/claims.js';
import type { Provider } from '../../provider/provider.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { redirectUriAt } from '../../provider/redirect-uris.js';
import { adminCallback } from './administration.feature.js';
import type { AllowVerdict, TestBegun, TestResult, TestSignInDto } from './test-sign-in.dto.js';

declare module '../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** Whether the directory has the user, who is active; absent if it was not asked. */
    readonly isInDirectory?: boolean;
  }
}

type Callback = Required<Pick<TestSignInDto, 'code' | 'state'>> & { readonly iss?: string | undefined };

/**
 * Sign-ins that show what a provider sends (docs/administration.md#the-views). They sign nobody in, write no
 * user and no session, and have states of their own. The audit trail has who made a test.
 */
@Injectable()
export class TestSignIns {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly steps: SignInSteps,
    private readonly audit: AuditStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @throws OAuthError `not_found`; `server_error` if the provider is away */
  async begin(name: string): Promise<TestBegun> {
    const provider = this.find(name);
    const state = this.states.make();
    const redirectUri = adminCallback(this.settings);
    const { url, memory = null } = await provider.authorizationUrl({
      state,
      redirectUri: redirectUriAt(this.settings, provider.settings, redirectUri),
    });
    const test = { provider: name, redirectUri, codeChallenge: null, memory, clientRequest: null };
    await this.states.save(testState(state), test);
    return { redirect_url: url.href, state };
  }

  /** @throws OAuthError `not_found`; `invalid_grant` if the state is not that of a test of this provider */
  async finish(name: string, callback: Callback, origin: Origin): Promise<TestResult> {
    const provider = this.find(name);
    const test = await this.states.consume(testState(callback.state));
    if (test.provider !== name) throw new OAuthError('invalid_grant', 'state is of another provider');
    let received: Claims | null = null;
    const answer = await this.exchange(provider, test, callback, (claims) => void (received = claims));
    const failure = 'error' in answer ? answer : {};
    const event = { event: 'provider_tested', userId: null, provider: name, ...failure, origin } as const;
    await this.audit.record(event);
    const identity = 'error' in answer ? null : answer;
    const { known, directory } = identity
      ? await this.askDirectory(name, identity)
      : { known: null, directory: null };
    const findings = received ? findingsOf(received, provider.settings, identity) : [];
    return {
      identity: identity && {
        provider_user_id: identity.providerUserId,
        username: identity.username,
        email: identity.email,
        avatar_url: identity.avatarUrl,
      },
      ...failure,
      claims_received: received,
      claims_kept: known?.claims ?? {},
      claims_dropped: findings.flatMap(({ name: claim, dropped }) =>
        dropped === null ? [] : [{ name: claim, why: dropped }],
      ),
      directory,
      allow: known && allowVerdict(known, provider.settings),
    };
  }

  private find(name: string): Provider {
    const provider = this.providers.find(name);
    if (!provider) throw new OAuthError('not_found', 'there is no such provider');
    return provider;
  }

  /** @returns also the identity with what the directory adds to it */
  private async askDirectory(
    provider: string,
    identity: Identity,
  ): Promise<{ known: Identity; directory: TestResult['directory'] }> {
    const userId = deriveUserId(provider, identity.providerUserId);
    try {
      const known = await this.steps.preview({ provider, identity, userId });
      const { isInDirectory } = known.facts;
      return { known, directory: isInDirectory === undefined ? null : isInDirectory ? 'active' : 'none' };
    } catch (error) {
      if (!(error instanceof OAuthError) || error.error !== 'access_denied') throw error;
      return { known: identity, directory: error.reason === 'deactivated' ? 'inactive' : null };
    }
  }

  /** @returns a refusal instead of throwing it: it is what the test shows */
  private async exchange(
    provider: Provider,
    { redirectUri, memory }: PendingSignIn,
    { code, state, iss }: Callback,
    received: (claims: Claims) => void,
  ): Promise<Identity | { readonly error: string; readonly reason: string }> {
    const ours = redirectUriAt(this.settings, provider.settings, redirectUri);
    try {
      return await provider.exchange({ code, state, redirectUri: ours, iss, memory, received }, true);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const secrets = [code, state, ...Object.values(memory ?? {})].filter((one) => typeof one === 'string');
      return { error: error.error, reason: provider.reasonOf(error, secrets) };
    }
  }
}

function allowVerdict(identity: Identity, settings: ProviderSettings): AllowVerdict | null {
  if (!settings.allow) return null;
  const { isInDirectory } = identity.facts;
  const verdict = checkAllow(settings.allow, { ...allowFacts(identity, settings), isInDirectory });
  return verdict.isAllowed
    ? { allowed: true, by: verdict.by, reason: null }
    : { allowed: false, by: null, reason: verdict.reason };
}
