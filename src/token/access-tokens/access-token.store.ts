import { Injectable } from '@nestjs/common';
import { plainArray, type PlainElement } from '../../platform/database/batching.js';
import { Sql } from '../../platform/database/sql.js';
import type { SessionIds } from '../../platform/events.js';
import type { UserClaims } from '../../identity/claims.js';
import type { DpopProof } from '../dpop/dpop-proof.js';
import { hashRefreshToken, type Authentication } from '../refresh/refresh-token.js';
import { REFRESH } from '../refresh/refresh.sql.js';
import { AccessTokens, type IssuedAccessToken } from './access-token.js';

export interface Refresh {
  readonly refreshToken: string;
  /** Session that the token claims to belong to. */
  readonly session: SessionIds;
  readonly authentication?: Authentication | undefined;
  /** DPoP proof of the session's key, if any. */
  readonly proof: DpopProof | undefined;
  /** Claims of the user, as this instance knows them. */
  readonly claims: UserClaims;
}

/**
 * Why no token was stored:
 * - `session`: no live session has this refresh token
 * - `proof`: the session needs a proof of its own key that was not used before
 * - `claims`: they have changed
 * - `limits`: the session has an idle end, so LimitedRefreshStore decides
 */
export interface Refused {
  readonly refusal: 'session' | 'proof' | 'claims' | 'limits';
}

/** Result of the statement; `token`: the session has another refresh token, or is bound to another key. */
export interface RefusedRow {
  /** Counts from 1. */
  readonly place: number;
  readonly refusal: Refused['refusal'] | 'token';
  /** Of the session. */
  readonly tokenHash: Buffer | null;
  readonly jkt: Buffer | null;
}

/** Stores access tokens for refresh tokens. On Citus, CitusAccessTokenStore is in its place. */
@Injectable()
export class AccessTokenStore {
  private readonly issueBatched: (refresh: Refresh) => Promise<IssuedAccessToken | Refused>;

  constructor(
    protected readonly sql: Sql,
    private readonly accessTokens: AccessTokens,
  ) {
    this.issueBatched = sql.batched('refresh', (refreshes: Refresh[]) => this.issueEach(refreshes));
  }

  /**
   * Signs and stores an access token for the session of a refresh token. Concurrent refreshes are batched
   * into one statement, and signed when it is sent.
   */
  issue(refresh: Refresh): Promise<IssuedAccessToken | Refused> {
    return this.issueBatched(refresh);
  }

  /** @param rows parameters of one refresh each; @returns the refused ones */
  protected store(rows: readonly PlainElement[][]): Promise<RefusedRow[]> {
    // No element needs escaping: ids made from bytes, hashes, numbers, base64url.
    const columns = rows[0]!.map((_, column) => plainArray(rows.map((row) => row[column]!)));
    return this.sql.query<RefusedRow>(REFRESH, columns);
  }

  private async issueEach(refreshes: Refresh[]): Promise<(IssuedAccessToken | Refused)[]> {
    const issued = refreshes.map(({ session, authentication, proof, claims }) =>
      this.accessTokens.issue(session, { authentication, proof, claims: claims.effective }),
    );
    // One for each proof: the statement would not report which of several it stored.
    const sent = [...new Map(issued.map(({ jti }, i) => [jti, i])).values()];
    const refused = await this.store(sent.map((i) => toParameters(refreshes[i]!, issued[i]!)));
    const results = refreshes.map((): IssuedAccessToken | Refused => ({ refusal: 'proof' }));
    for (const i of sent) results[i] = issued[i]!;
    for (const row of refused) {
      const i = sent[row.place - 1]!;
      results[i] = { refusal: findReason(row, refreshes[i]!) };
    }
    return results;
  }
}

export function toParameters(
  { refreshToken, session, proof, claims }: Refresh,
  { jti, expiresAt, token }: IssuedAccessToken,
): PlainElement[] {
  const jkt = proof?.jkt ?? null;
  const tokenHash = hashRefreshToken(refreshToken, jkt);
  return [session.userId, session.sessionId, tokenHash, jkt, claims.version, jti, expiresAt, token];
}

/** The hash includes the key: only the key of the session shows whether the refresh token is right. */
export function findReason<Reason extends string>(
  { refusal, tokenHash, jkt }: Pick<RefusedRow, 'tokenHash' | 'jkt'> & { readonly refusal: Reason },
  { refreshToken }: Refresh,
): Exclude<Reason, 'token'> | 'proof' | 'session' {
  if (refusal !== 'token') return refusal as Exclude<Reason, 'token'>;
  return tokenHash?.equals(hashRefreshToken(refreshToken, jkt)) ? 'proof' : 'session';
}
