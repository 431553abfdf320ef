import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { systemOrigin } from '../../audit/audit-event.js';
import { SignInSteps } from '../../auth/extensions/sign-in-steps.js';
import type { RecheckSettings } from './recheck.feature.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { ConcurrencyLimit } from '../../platform/database/limits.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Identity } from '../../provider/identity/identity.js';
import { hashIfNamed } from '../../token/sessions/recent-ends.js';
import type { Provider } from '../../provider/provider.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { CheckStore } from './check.store.js';
import type { ProviderCheck } from './provider-check.entity.js';
import { ProviderTokens } from './provider-tokens.js';

/** What a call has shown; `reason`: why there was no good answer, for the log. */
export type Outcome =
  | { readonly answered: true; readonly isAllowed: boolean; readonly sessionExpiry?: number | null }
  | { readonly answered: false; readonly reason: string };

/** Attempts to store a new refresh token, a second apart: the lease is longer. */
const TRIES = 30;

/** Seconds before the second attempt; each later pause is twice as long. */
const SHORTEST_S = 10;
const LONGEST_S = 600;

/** Asks a provider about one user, and applies the answer. */
@Injectable()
export class Recheck {
  /** Most connections are for requests. */
  private readonly limit: ConcurrencyLimit;

  constructor(
    private readonly store: CheckStore,
    private readonly tokens: ProviderTokens,
    private readonly steps: SignInSteps,
    private readonly claims: ClaimsStore,
    private readonly sessions: SessionStore,
    private readonly signOuts: SignOutService,
    private readonly clock: Clock,
    @Inject(SETTINGS) { databasePoolSize }: Settings,
  ) {
    this.limit = new ConcurrencyLimit(Math.ceil(databasePoolSize / 4));
  }

  /** @param row leased by this instance @throws an error of the database: the lease then ends by itself */
  async run(row: ProviderCheck, provider: Provider, settings: RecheckSettings): Promise<Outcome> {
    const startedAt = new Date(this.clock.now());
    const refreshToken = this.tokens.decrypt(row.refreshToken, row.userId);
    // Without it the provider cannot be asked about this user.
    if (refreshToken === undefined) return this.end(row, 'provider_ended');
    let stored: Promise<void> | undefined;
    const answer = await provider
      .refresh(refreshToken, (token) => (stored = this.keep(row, token)))
      .catch((error: unknown) => {
        if (error instanceof OAuthError) return error;
        throw error;
      });
    await stored;
    return this.limit.run(async () => {
      if (!(answer instanceof OAuthError)) return this.apply(row, answer, startedAt, settings);
      if (answer.error === 'invalid_grant') return this.end(row, 'provider_ended');
      await this.failed(row, startedAt, settings);
      return { answered: false, reason: provider.reasonOf(answer, [refreshToken]) };
    });
  }

  /** Stores a new refresh token; until then, the row has the former one. */
  private async keep(row: ProviderCheck, refreshToken: string): Promise<void> {
    const sealed = this.tokens.encrypt(refreshToken, row.userId);
    for (let left = TRIES; ; left--) {
      try {
        return await this.store.rotated(row, sealed);
      } catch (error) {
        if (left === 1) throw error;
        await delay(1000, undefined, { ref: false });
      }
    }
  }

  private async apply(
    row: ProviderCheck,
    identity: Identity,
    startedAt: Date,
    { interval }: RecheckSettings,
  ): Promise<Outcome> {
    const { userId, provider } = row;
    // the user has signed in since
    if (!(await this.store.isLeased(row))) return { answered: true, isAllowed: true };
    const subject = hashIfNamed(provider, identity.subject);
    const isSame = row.subject === null || subject?.equals(row.subject) === true;
    if (deriveUserId(provider, identity.providerUserId) !== userId || !isSame) {
      return this.end(row, 'provider_ended');
    }
    try {
      const { claims } = await this.steps.checkAgain({ provider, identity, userId });
      await this.claims.atSignIn(userId, provider, claims, systemOrigin('recheck'));
    } catch (error) {
      if (error instanceof OAuthError && error.error === 'access_denied') return this.end(row, 'not_allowed');
      throw error;
    }
    await this.endNoLater(row, identity.sessionExpiry);
    await this.store.succeeded(row, startedAt, interval);
    return { answered: true, isAllowed: true, sessionExpiry: identity.sessionExpiry };
  }

  /** Tries again later; the sessions end if the provider has not answered for `recheck_grace`. */
  private async failed(row: ProviderCheck, startedAt: Date, { grace }: RecheckSettings): Promise<void> {
    const since = row.failingSince ?? startedAt;
    const now = this.clock.now();
    if (now - since.getTime() >= 1000 * grace) await this.end(row, 'provider_ended');
    else await this.store.failed(row, since, nextAttempt(row.attempts, now, since, grace));
  }

  /** @param expiry end of the provider's session, in seconds since the epoch */
  private async endNoLater(row: ProviderCheck, expiry: number | null): Promise<void> {
    const ms = 1000 * (expiry ?? Infinity);
    if (ms >= row.expiresAt.getTime()) return; // no session is longer
    const at = new Date(Math.max(ms, 0));
    if (await this.sessions.limit(row.userId, at)) await this.store.endsAt(row.userId, at);
  }

  /** Ends all sessions of the user; the row ends with them. */
  private async end(row: ProviderCheck, cause: 'provider_ended' | 'not_allowed'): Promise<Outcome> {
    if (await this.store.isLeased(row)) {
      const all = { userId: row.userId, sessionId: null, deviceId: null };
      await this.signOuts.signOut('all', all, systemOrigin('recheck'), { cause });
    }
    return { answered: true, isAllowed: false };
  }
}

/**
 * Returns when a provider that did not answer is asked about a user again: in growing pauses, and once more
 * when the grace ends. Up to a fifth of a pause is random, so that many users do not become due at once.
 * @param attempts that have failed before this one
 * @param now milliseconds
 */
export function nextAttempt(
  attempts: number,
  now: number,
  failingSince: Date,
  graceS: number,
  random = Math.random(),
): Date {
  const pause = Math.min(SHORTEST_S * 2 ** Math.min(attempts, 10), LONGEST_S) * (1 - random / 5);
  const graceEnd = failingSince.getTime() + 1000 * graceS;
  return new Date(Math.min(now + 1000 * pause, Math.max(graceEnd, now)));
}
