import { Injectable } from '@nestjs/common';
import type { Verified } from '../../../extensions.js';
import type { Identity } from '../../../provider/identity/identity.js';
import type { SessionKey } from '../../../token/sessions/session.store.js';
import { SessionStore } from '../../../token/sessions/session.store.js';
import { claimsOfProvider } from '../../../user/last-identity.js';
import { UserStore } from '../../../user/user.store.js';

/** Identities of sessions that another session has approved. */
@Injectable()
export class InheritedIdentities {
  constructor(
    private readonly sessions: SessionStore,
    private readonly users: UserStore,
  ) {}

  /**
   * Returns the user as the last sign-in knew them, with the claims of now; the new session ends with the one
   * that approved.
   * @param approvedAt milliseconds since the epoch
   * @returns undefined if the session has ended
   */
  async find(
    key: SessionKey,
    { acr, amr }: Pick<Identity, 'acr' | 'amr'>,
    approvedAt: number,
  ): Promise<Verified | undefined> {
    const [session, isLive, user] = await Promise.all([
      this.sessions.find(key),
      this.sessions.isLive(key),
      this.users.find(key.userId),
    ]);
    if (!session || !isLive || !user) return undefined;
    const { provider, providerUserId, username, avatarUrl } = user;
    const {
      subject = null,
      email = null,
      isEmailVerified = false,
      hostedDomain,
      names = {},
    } = user.identity ?? {};
    const claims = claimsOfProvider(user); // the steps lay others over; `allow` does not read those
    const identity: Identity = {
      providerUserId,
      username,
      email,
      avatarUrl,
      subject,
      session: null, // see `restsOn`
      authTime: session.authTime && session.authTime.getTime() / 1000,
      acr,
      amr,
      idToken: null,
      refreshToken: null,
      sessionExpiry: Math.floor(session.expiresAt.getTime() / 1000),
      names,
      claims,
      overlay: {},
      proof: { isEmailVerified, hostedDomain, claims },
      facts: { approvedBy: key.sessionId }, // the steps find the others again
    };
    const begunAt = session.createdAt.getTime();
    return { provider, identity, requestedAt: approvedAt, begunAt, restsOn: session };
  }
}
