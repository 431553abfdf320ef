import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { AuditTrail } from '../../audit/audit.trail.js';
import { DatabaseBusy } from '../../database/limits.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type SessionIds } from '../../events.js';
import { ClaimsStore } from '../../user/claims.store.js';
import type { IssuedAccessToken } from '../access-tokens/access-token.js';
import { AccessTokenStore, type Refresh } from '../access-tokens/access-token.store.js';
import { TokenInspector } from '../access-tokens/token-inspector.js';
import { DpopProofs, type DpopCall } from '../dpop/dpop-proofs.js';
import { parseRefreshToken } from './refresh-token.js';
import type { RefreshedToken } from './refresh.dto.js';

/** Attempts to store a token, while the claims of its user change. */
const TRIES = 5;

@Injectable()
export class TokenService {
  constructor(
    private readonly store: AccessTokenStore,
    private readonly claims: ClaimsStore,
    private readonly proofs: DpopProofs,
    private readonly inspector: TokenInspector,
    private readonly audit: AuditTrail,
    private readonly events: Events,
  ) {}

  /**
   * Issues an access token for the session of a refresh token (spec §4.4), which stays as it is (spec §2.2).
   * @param call is used if the session is bound to a key
   * @param originOf is called for a refusal only
   * @throws OAuthError `invalid_grant` if the token is unknown or has expired, `invalid_dpop_proof` if only
   *   the proof is invalid; DatabaseBusy if the claims of the user change each time
   */
  async refresh(refreshToken: string, call: DpopCall, originOf: () => Origin): Promise<RefreshedToken> {
    const parsed = parseRefreshToken(refreshToken);
    try {
      if (!parsed) throw unknownToken();
      const { session, authentication, bound } = parsed;
      const proof = bound ? await this.proofs.validate(call) : undefined;
      const { token, expiresIn } = await this.issue({ refreshToken, session, authentication, proof });
      this.events.emit('session.used', session);
      return { access_token: token, token_type: 'Bearer', expires_in: expiresIn };
    } catch (error) {
      if (error instanceof OAuthError) this.recordRefusal(error, originOf(), refreshToken, parsed?.session);
      throw error;
    }
  }

  /**
   * Stores a token with the current claims: if they have changed since this instance read them, it signs
   * again.
   */
  private async issue(refresh: Omit<Refresh, 'claims'>): Promise<IssuedAccessToken> {
    const { userId } = refresh.session;
    for (let left = TRIES; left > 0; left--) {
      const result = await this.store.issue({ ...refresh, claims: this.claims.known(userId) });
      if (!('refusal' in result)) return result;
      if (result.refusal === 'session') throw unknownToken();
      if (result.refusal === 'proof') throw unusableProof();
      await this.claims.find(userId);
    }
    throw new DatabaseBusy('the claims of the user change too often');
  }

  /** The event has the ids in the token if the token is ours. */
  private recordRefusal(
    { error, reason }: OAuthError,
    origin: Origin,
    token: string,
    claimed?: SessionIds,
  ): void {
    const isProven = claimed && (() => this.inspector.isOurs(token, claimed));
    this.audit.refused({ event: 'refresh_refused', error, reason, origin, claimed, isProven });
  }
}

function unknownToken(): OAuthError {
  return new OAuthError('invalid_grant', 'refresh token is unknown or has expired');
}

function unusableProof(): OAuthError {
  return new OAuthError(
    'invalid_dpop_proof',
    'the session needs a new DPoP proof of its own key: there was none, or another, or it was used before',
  );
}
