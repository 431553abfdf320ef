import { Injectable } from '@nestjs/common';
import { DatabaseBusy } from '../../database/limits.js';
import { plainArray, type PlainElement } from '../../database/batching.js';
import { Sql } from '../../database/sql.js';
import type { SessionIds } from '../../events.js';
import { NO_CLAIMS, type UserClaims } from '../../user/claims.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { claimsVersion } from '../../user/user.sql.js';
import { AccessTokens, type IssuedAccessToken } from './access-token.js';
import type { DpopProof } from '../dpop/dpop-proof.js';
import { hashRefreshToken, type Authentication } from '../refresh/refresh-token.js';

export interface Refresh {
  readonly refreshToken: string;
  /** Session that the token claims to belong to. */
  readonly session: SessionIds;
  readonly authentication?: Authentication | undefined;
  /** DPoP proof of the session's key, if any. */
  readonly proof: DpopProof | undefined;
}

type RefreshWithClaims = Refresh & { readonly claims: UserClaims };

// Checks the session and the version of the claims, and stores the token atomically. The `jti` of a token for
// a proof is derived from the proof, so its second use on any instance conflicts and stores nothing. Citus
// needs the alias `t`. It uses tables of several modules (`user.sql.ts`).
const STORE_ONE = {
  name: 'refresh-one',
  text: `
    INSERT INTO access_tokens AS t (user_id, session_id, jti, expires_at, token)
    SELECT user_id, session_id, $4::uuid, to_timestamp($5::float8), $6::text
    FROM refresh_tokens
    WHERE user_id = $1 AND session_id = $2 AND token_hash = $3 AND expires_at > now()
      AND (jkt IS NULL OR jkt = $7) AND ${claimsVersion('$1')} = $8
    ON CONFLICT DO NOTHING
    RETURNING t.jti`,
};

// Ordered by key, so that two statements with equal proofs do not deadlock.
const STORE_MANY = {
  name: 'refresh-many',
  text: `
    INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT r.user_id, r.session_id, n.jti, to_timestamp(n.expires_at), n.token
    FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::uuid[], $5::float8[], $6::text[], $7::bytea[], $8::bigint[])
      AS n (user_id, session_id, token_hash, jti, expires_at, token, jkt, claims_version)
    JOIN refresh_tokens r ON r.user_id = n.user_id AND r.session_id = n.session_id
    WHERE r.token_hash = n.token_hash AND r.expires_at > now() AND (r.jkt IS NULL OR r.jkt = n.jkt)
      AND ${claimsVersion('r.user_id')} = n.claims_version
    ORDER BY n.user_id, n.jti
    ON CONFLICT DO NOTHING
    RETURNING jti`,
};

/** Attempts to store a token, while the claims of its user change. */
const TRIES = 5;

@Injectable()
export class AccessTokenStore {
  private readonly issueBatched: (refresh: RefreshWithClaims) => Promise<IssuedAccessToken | undefined>;

  constructor(
    private readonly sql: Sql,
    private readonly accessTokens: AccessTokens,
    private readonly claims: ClaimsStore,
  ) {
    this.issueBatched = sql.batched('refresh', (refreshes: RefreshWithClaims[]) => this.store(refreshes));
  }

  /**
   * Issues an access token and stores it, if the refresh token is stored and has not expired, its session is bound to no other
   * key than the proven one, and no token is stored for its proof. Concurrent refreshes are batched into one statement, and
   * signed when it is made. A token with old claims is not stored, but signed again: only then the claims are read.
   * @returns undefined if nothing was stored
   * @throws DatabaseBusy if the claims change each time
   */
  async issueForSession(refresh: Refresh): Promise<IssuedAccessToken | undefined> {
    const { userId } = refresh.session;
    for (let left = TRIES; left > 0; left--) {
      const claims = this.claims.known(userId);
      const accessToken = await this.issueBatched({ ...refresh, claims });
      if (accessToken) return accessToken;
      const { version } = (await this.claims.find(userId)) ?? NO_CLAIMS;
      if (version === claims.version) return undefined;
    }
    throw new DatabaseBusy('the claims of the user change too often');
  }

  private async store(refreshes: RefreshWithClaims[]): Promise<(IssuedAccessToken | undefined)[]> {
    const issued = refreshes.map(({ session, authentication, proof, claims }) =>
      this.accessTokens.issue(session, { authentication, proof, claims: claims.effective }),
    );
    const rows = refreshes.map((refresh, i) => rowOf(refresh, issued[i]!));
    if (rows.length === 1) {
      const { length } = await this.sql.query(STORE_ONE, rows[0]!);
      return length > 0 ? issued : [undefined];
    }
    // One row for each proof: the statement would not report which of several it stored.
    const sent = new Map(issued.map(({ jti }, i) => [jti, i]));
    const sentRows = [...sent.values()].map((i) => rows[i]!);
    // No element needs escaping: ids made from bytes, hashes, numbers, base64url.
    const columns = rows[0]!.map((_, column) => plainArray(sentRows.map((row) => row[column] ?? null)));
    const stored = await this.sql.query<{ jti: string }>(STORE_MANY, columns);
    const jtis = new Set(stored.map(({ jti }) => jti));
    return issued.map((token, i) => (sent.get(token.jti) === i && jtis.has(token.jti) ? token : undefined));
  }
}

/** Parameters of STORE_ONE; those of STORE_MANY are arrays of them. */
function rowOf(
  { refreshToken, session, proof, claims }: RefreshWithClaims,
  { jti, expiresAt, token }: IssuedAccessToken,
): PlainElement[] {
  const jkt = proof?.jkt ?? null;
  const tokenHash = hashRefreshToken(refreshToken, jkt);
  return [session.userId, session.sessionId, tokenHash, jti, expiresAt, token, jkt, claims.version];
}
