import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken, type AccessToken } from './access-token.js';
import { inBatches } from './batches.js';
import { verifyProof } from './proof.js';
import { areStored } from './refresh-batch.js';
import type { Handler } from './server.js';
import { sessionOf } from './session.js';

const STORE = {
  name: 'store-proven',
  text: `
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT r.user_id, r.session_id, n.jti, to_timestamp(n.expires_at), n.token
    FROM unnest($1::bytea[], $2::bytea[], $3::uuid[], $4::float8[], $5::text[])
      AS n (token_hash, jkt, jti, expires_at, token)
    JOIN floor.refresh_tokens r USING (token_hash)
    WHERE r.expires_at > now() AND r.jkt = n.jkt
    ON CONFLICT DO NOTHING
    RETURNING jti`,
};

interface Refresh {
  readonly tokenHash: Buffer;
  readonly jkt: Buffer;
  readonly accessToken: AccessToken;
}

/** Like `refreshInBatches`, of sessions that are bound to a key: each request brings a proof, which is good once. */
export function refreshWithProofs(pool: Pool): Handler {
  const store = inBatches((refreshes: readonly Refresh[]) =>
    areStored(
      pool,
      STORE,
      [refreshes.map(({ tokenHash }) => tokenHash), refreshes.map(({ jkt: of }) => of)],
      refreshes.map(({ accessToken }) => accessToken),
    ),
  );
  return async ({ refresh_token }, { dpop }) => {
    const { jkt, jti } = verifyProof(dpop as string);
    const accessToken = issueAccessToken(sessionOf(refresh_token!), jti);
    const tokenHash = createHash('sha256').update(jkt).update(refresh_token!).digest();
    if (!(await store({ tokenHash, jkt, accessToken })))
      throw new Error('unknown refresh token, or used proof');
    return { access_token: accessToken.token, expires_in: EXPIRES_IN };
  };
}
