import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { Clock } from '../../../platform/database/clock.js';
import type { SessionIds } from '../../../platform/events.js';
import { DpopProofs, type DpopCall } from '../../../token/dpop/dpop-proofs.js';
import { authenticateAgain, MOST_AGE } from '../../../token/sessions/recent-authentication.js';
import { SessionStore } from '../../../token/sessions/session.store.js';

/** A call that changes who may sign in as the caller. */
export interface IdentityCall {
  readonly caller: SessionIds;
  readonly proof: DpopCall;
}

/** Which sessions may join and part identities. */
@Injectable()
export class LinkingSessions {
  constructor(
    private readonly sessions: SessionStore,
    private readonly proofs: DpopProofs,
    private readonly clock: Clock,
  ) {}

  /**
   * Requires that the person has just authenticated in this session, by the user's own identity.
   * @throws OAuthError `invalid_dpop_proof`, `access_denied`, `insufficient_user_authentication`
   */
  async require({ caller, proof }: IdentityCall): Promise<void> {
    const session = await this.sessions.find(caller);
    await this.proofs.validateOf(session?.jkt ?? null, proof);
    if (!session || session.begunAt !== null || session.joinedIdentityId !== null) {
      throw new OAuthError('access_denied', 'sign in by your own identity, on this device, for this');
    }
    const { authTime, createdAt } = session;
    // The clock of a provider may be ahead: no session is younger than its begin.
    const since = Math.min(authTime?.getTime() ?? Infinity, createdAt.getTime());
    if (since > this.clock.now() - MOST_AGE * 1000) return;
    throw authenticateAgain('sign in again, and then repeat this within five minutes');
  }

  /**
   * Requires that the caller was not signed out since `require`. Exact once the user is locked.
   * @throws OAuthError `invalid_grant`
   */
  async requireLive(caller: SessionIds, manager: EntityManager): Promise<void> {
    if (await this.sessions.isLive(caller, manager)) return;
    throw new OAuthError('invalid_grant', 'the session has ended', { reason: 'signed_out' });
  }
}
