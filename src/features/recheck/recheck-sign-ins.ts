import { Inject, Injectable, Logger } from '@nestjs/common';
import { type Candidate, type IdentityChanges, SignInStep, type SignedIn } from '../../extensions.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { hashIfNamed } from '../../token/sessions/recent-ends.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { claimsOfProvider } from '../../user/last-identity.js';
import { UserStore } from '../../user/user.store.js';
import { DatabaseBusy } from '../../platform/database/limits.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { CheckStore } from './check.store.js';
import { ProviderTokens } from './provider-tokens.js';
import { Recheck } from './recheck.js';
import type { RecheckSettings } from './recheck.feature.js';

declare module '../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** The person has proved another identity, which is joined to this one. */
    readonly isJoined?: true;
    /** The provider was asked about the user just now. */
    readonly isRechecked?: true;
  }
}

/** Keeps the provider's refresh token of each sign-in; without one, the session is short. */
@Injectable()
@SignInStep({ check: 'rules', after: 'keep' })
export class RecheckSignIns implements SignInStep {
  private readonly logger = new Logger('Recheck');
  /** The log has warned of these providers. */
  private readonly warned = new Set<string>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly store: CheckStore,
    private readonly tokens: ProviderTokens,
    private readonly recheck: Recheck,
    private readonly sessions: SessionStore,
    private readonly users: UserStore,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Limits the session if the provider cannot be asked about the user. If the person has proved another
   * identity, it is asked now.
   */
  async check({ provider, identity, userId }: Candidate): Promise<IdentityChanges | undefined> {
    const { recheck } = this.providers.get(provider).settings;
    if (recheck && identity.facts.isJoined) return this.ask({ provider, identity, userId }, recheck);
    if (!recheck || identity.refreshToken !== null || (await this.store.has(userId))) return undefined;
    if (!this.warned.has(provider)) {
      this.warned.add(provider);
      this.logger.warn(
        `provider ${provider} sends no refresh token, so such sessions end after recheck_grace (${recheck.grace} s)`,
      );
    }
    const end = Math.floor(this.graceEnd(recheck.grace) / 1000);
    return { sessionExpiry: Math.min(identity.sessionExpiry ?? end, end) };
  }

  async after({ provider, identity, session, joined }: SignedIn): Promise<void> {
    const { userId, sessionId } = session;
    const other = joined && this.providers.find(joined.provider)?.settings.recheck; // or it is disabled
    // Nobody asks the provider of a joined identity again.
    if (other) await this.sessions.limit(userId, new Date(this.graceEnd(other.grace)), sessionId);
    const { recheck } = this.providers.get(provider).settings;
    if (!recheck) return;
    const life = { interval: recheck.interval, ttl: this.settings.refreshTokenTtl };
    if (identity.refreshToken !== null) {
      const refreshToken = this.tokens.encrypt(identity.refreshToken, userId);
      const subject = hashIfNamed(provider, identity.subject);
      await this.store.signedIn({ userId, provider, refreshToken, subject }, life);
      return;
    }
    // The row may have ended since `check`.
    if (await this.store.extend(userId, life)) return;
    await this.sessions.limit(userId, new Date(this.graceEnd(recheck.grace)), sessionId);
  }

  /**
   * @returns the claims and the expiry of the answer, which replaces what the last sign-in knew
   * @throws OAuthError `access_denied`; `server_error` if the provider does not answer
   */
  private async ask(
    { provider, identity, userId }: Omit<Candidate, 'origin'>,
    settings: RecheckSettings,
  ): Promise<IdentityChanges> {
    const row = await this.store.leaseNow(userId);
    if (!row && (await this.store.has(userId))) throw new DatabaseBusy('the provider is being asked');
    const outcome = row && (await this.recheck.run(row, this.providers.get(provider), settings));
    if (outcome?.answered === false) {
      throw new OAuthError('server_error', 'the identity provider does not answer', {
        reason: outcome.reason,
      });
    }
    const user = outcome?.isAllowed && (await this.users.find(userId));
    if (user) {
      const claims = claimsOfProvider(user);
      const expiry = Math.min(identity.sessionExpiry ?? Infinity, outcome.sessionExpiry ?? Infinity);
      const sessionExpiry = Number.isFinite(expiry) ? expiry : null;
      const facts = { isRechecked: true } as const;
      return { claims, proof: { ...identity.proof, claims }, sessionExpiry, facts };
    }
    const reason = row ? 'recheck' : 'recheck: no token of the provider';
    throw new OAuthError('access_denied', 'sign in by your own identity first', { reason });
  }

  private graceEnd(grace: number): number {
    return this.clock.now() + 1000 * grace;
  }
}
