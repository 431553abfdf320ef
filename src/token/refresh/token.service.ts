import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { AuditTrail } from '../../audit/audit.trail.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type SessionIds } from '../../events.js';
import { AccessTokenStore } from '../access-tokens/access-token.store.js';
import { DpopProofs, type DpopCall } from '../dpop/dpop-proofs.js';
import { parseRefreshToken, type ParsedRefreshToken } from './refresh-token.js';
import { TokenInspector } from '../access-tokens/token-inspector.js';

/** Answer of POST /oauth2/refresh (spec §4.4). */
export class RefreshedToken {
  /** A JWT. */
  access_token!: string;

  token_type!: 'Bearer';

  /** Lifetime of the access token, in seconds. */
  expires_in!: number;
}

@Injectable()
export class TokenService {
  constructor(
    private readonly store: AccessTokenStore,
    private readonly proofs: DpopProofs,
    private readonly inspector: TokenInspector,
    private readonly audit: AuditTrail,
    private readonly events: Events,
  ) {}

  /**
   * Issues an access token for the session of a refresh token (spec §4.4), which stays as it is (spec §2.2).
   * @param call is used if the session is bound to a key
   * @param originOf is called for a refusal only
   * @throws OAuthError `invalid_grant` if the token is unknown or expired, `invalid_dpop_proof` if only the proof is invalid
   */
  async refresh(refreshToken: string, call: DpopCall, originOf: () => Origin): Promise<RefreshedToken> {
    const held = parseRefreshToken(refreshToken);
    try {
      if (!held) throw unknown();
      return await this.renew(refreshToken, held, call);
    } catch (error) {
      if (error instanceof OAuthError) this.report(error, originOf(), refreshToken, held?.session);
      throw error;
    }
  }

  /** The event has the ids in the token if the token is ours. */
  private report({ error, reason }: OAuthError, origin: Origin, token: string, claimed?: SessionIds): void {
    const isProven = claimed && (() => this.inspector.isOurs(token, claimed));
    this.audit.refused({ event: 'refresh_refused', error, reason, origin, claimed, isProven });
  }

  private async renew(
    refreshToken: string,
    { session, bound, authentication }: ParsedRefreshToken,
    call: DpopCall,
  ): Promise<RefreshedToken> {
    const proof = bound ? await this.proofs.validate(call) : undefined;
    if (bound && !proof) throw await this.refusal(refreshToken);
    const accessToken = await this.store.issueForSession({ refreshToken, session, authentication, proof });
    if (!accessToken) throw bound ? await this.refusal(refreshToken) : unknown();
    this.events.emit('session.used', session);
    return {
      access_token: accessToken.token,
      token_type: 'Bearer',
      expires_in: accessToken.expiresIn,
    };
  }

  /**
   * Finds the reason of a failed refresh of a bound session, so that a successful one needs one statement.
   */
  private async refusal(refreshToken: string): Promise<OAuthError> {
    if (!(await this.inspector.inspect(refreshToken))) return unknown();
    return new OAuthError(
      'invalid_dpop_proof',
      'the session needs a new DPoP proof of its own key: there was none, or another, or it was used before',
    );
  }
}

function unknown(): OAuthError {
  return new OAuthError('invalid_grant', 'refresh token is unknown or has expired');
}
