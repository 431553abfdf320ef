import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Verified } from '../../../extensions.js';
import type { Claims } from '../../../identity/claims.js';
import type { Identity } from '../../../provider/identity/identity.js';
import type { SessionKey } from '../../../token/sessions/session.store.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { UserLifecycles } from '../../../user/user-lifecycle.js';
import { UserStore } from '../../../user/user.store.js';
import { SessionFactsStore } from './session-facts.store.js';

/** Identities of sessions that another session has approved. */
@Injectable()
export class InheritedIdentities {
  constructor(
    private readonly facts: SessionFactsStore,
    private readonly sessions: SessionStore,
    private readonly users: UserStore,
    private readonly lifecycles: UserLifecycles,
    private readonly dataSource: DataSource,
  ) {}

  /**
   * Returns the user as a session knows it, with the claims of now; the new session ends with it.
   * @param approvedAt milliseconds since the epoch: a logout at the provider after it ends the new session,
   *   too
   * @returns undefined if the session has ended
   */
  async find(key: SessionKey, approvedAt: number): Promise<Verified | undefined> {
    const [session, isLive, found, user] = await Promise.all([
      this.sessions.find(key),
      this.sessions.isLive(key),
      this.facts.find(key),
      this.users.find(key.userId),
    ]);
    if (!session || !isLive || !found || !user) return undefined;
    const { providerUserId, username, avatarUrl, provider } = user;
    const claims = await this.claimsOfProvider(key.userId, user.providerClaims ?? {});
    const { isEmailVerified, hostedDomain, ...inherited } = found.facts;
    const end = Math.floor(session.expiresAt.getTime() / 1000);
    const identity: Identity = {
      ...inherited,
      providerUserId,
      username,
      avatarUrl,
      claims,
      idToken: null,
      refreshToken: null,
      sessionExpiry: Math.min(inherited.sessionExpiry ?? end, end),
      proof: { isEmailVerified, hostedDomain, claims },
      facts: { approvedBy: key.sessionId }, // the steps find the others again
    };
    return { provider, identity, requestedAt: approvedAt, begunAt: session.createdAt.getTime() };
  }

  /** Without claims that features have laid over: their steps run again; `allow` does not read them. */
  private async claimsOfProvider(userId: string, stored: Claims): Promise<Claims> {
    const overlays = await this.lifecycles.overlays(this.dataSource.manager, [userId]);
    const overlay = overlays.get(userId) ?? {};
    return Object.fromEntries(Object.entries(stored).filter(([name]) => !Object.hasOwn(overlay, name)));
  }
}
