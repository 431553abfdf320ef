import { Inject, Injectable, Logger } from '@nestjs/common';
import { type Candidate, type IdentityChanges, SignInStep, type SignedIn } from '../../extensions.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { hashIfNamed } from '../../token/sessions/recent-ends.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { CheckStore } from './check.store.js';
import { ProviderTokens } from './provider-tokens.js';

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
    private readonly sessions: SessionStore,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Limits the session if the provider cannot be asked about the user. */
  async check({ provider, identity, userId }: Candidate): Promise<IdentityChanges | undefined> {
    const { recheck } = this.providers.get(provider).settings;
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

  async after({ provider, identity, session }: SignedIn): Promise<void> {
    const { recheck } = this.providers.get(provider).settings;
    if (!recheck) return;
    const { userId, sessionId } = session;
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

  private graceEnd(grace: number): number {
    return this.clock.now() + 1000 * grace;
  }
}
