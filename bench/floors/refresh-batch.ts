import type { Pool } from 'pg';
import { EXPIRES_IN, issueAccessToken, type AccessToken } from './access-token.js';
import { storeOne } from './refresh-one.js';
import type { Handler } from './server.js';
import { sessionOf, sha256 } from './session.js';

const BATCHES_IN_FLIGHT = 2;

const STORE = {
  name: 'store-many',
  text: `
    INSERT INTO floor.access_tokens (user_id, session_id, jti, expires_at, token)
    SELECT r.user_id, r.session_id, n.jti, to_timestamp(n.expires_at), n.token
    FROM unnest($1::bytea[], $2::uuid[], $3::float8[], $4::text[]) AS n (token_hash, jti, expires_at, token)
    JOIN floor.refresh_tokens r USING (token_hash)
    WHERE r.expires_at > now()
    RETURNING jti`,
};

interface Waiting {
  readonly tokenHash: Buffer;
  readonly accessToken: AccessToken;
  readonly resolve: (stored: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Like `refreshInOne`, but requests that arrive while two statements are under way share the next; no timer. */
export function refreshInBatches(pool: Pool): Handler {
  let waiting: Waiting[] = [];
  let inFlight = 0;

  async function next(): Promise<void> {
    if (inFlight === BATCHES_IN_FLIGHT || waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    inFlight++;
    await store(pool, batch);
    inFlight--;
    void next();
  }

  return async ({ refresh_token }) => {
    const accessToken = issueAccessToken(sessionOf(refresh_token!));
    const tokenHash = sha256(refresh_token!);
    const stored = await new Promise<boolean>((resolve, reject) => {
      waiting.push({ tokenHash, accessToken, resolve, reject });
      void next();
    });
    if (!stored) throw new Error('unknown refresh token');
    return { access_token: accessToken.token, expires_in: EXPIRES_IN };
  };
}

async function store(pool: Pool, batch: readonly Waiting[]): Promise<void> {
  try {
    const [first] = batch;
    if (batch.length === 1) return first!.resolve(await storeOne(pool, first!.tokenHash, first!.accessToken));
    const values = [
      batch.map(({ tokenHash }) => tokenHash),
      batch.map(({ accessToken }) => accessToken.jti),
      batch.map(({ accessToken }) => accessToken.expiresAt),
      batch.map(({ accessToken }) => accessToken.token),
    ];
    const { rows } = await pool.query<{ jti: string }>({ ...STORE, values });
    const stored = new Set(rows.map(({ jti }) => jti));
    for (const { accessToken, resolve } of batch) resolve(stored.has(accessToken.jti));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
