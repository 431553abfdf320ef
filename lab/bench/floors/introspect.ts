import { createHash, timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { SERVICE_KEY } from '../names.js';
import { inBatches } from './batches.js';
import type { Handler } from './server.js';
import { verifiedClaims, type Claims } from './verify.js';

const KEY_HASH = createHash('sha256').update(SERVICE_KEY).digest();

const IS_LIVE = {
  name: 'is-live',
  text: 'SELECT FROM floor.access_tokens WHERE user_id = $1 AND jti = $2 AND token = $3',
};

const ARE_LIVE = {
  name: 'are-live',
  text: `
    SELECT jti FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS n (user_id, jti, token)
    JOIN floor.access_tokens USING (user_id, jti, token)`,
};

interface Presented {
  readonly token: string;
  readonly claims: Claims;
}

/** W2. That a token's session is still there is not looked at: a sign-out would remove the row. */
export function introspectInBatches(pool: Pool): Handler {
  const live = inBatches((presented: readonly Presented[]) => areLive(pool, presented));
  return async ({ token }, { authorization = '' }) => {
    const given = createHash('sha256').update(authorization.slice('Bearer '.length)).digest();
    if (!timingSafeEqual(given, KEY_HASH)) throw new Error('no service key');
    const claims = verifiedClaims(token!);
    if (!claims || !(await live({ token: token!, claims }))) return { active: false };
    return { active: true, ...claims, token_type: 'Bearer' };
  };
}

async function isLive(pool: Pool, { token, claims: { sub, jti } }: Presented): Promise<boolean> {
  const { rowCount } = await pool.query({ ...IS_LIVE, values: [sub, jti, token] });
  return rowCount === 1;
}

async function areLive(pool: Pool, presented: readonly Presented[]): Promise<boolean[]> {
  if (presented.length === 1) return [await isLive(pool, presented[0]!)];
  const values = [
    presented.map(({ claims }) => claims.sub),
    presented.map(({ claims }) => claims.jti),
    presented.map(({ token }) => token),
  ];
  const { rows } = await pool.query<{ jti: string }>({ ...ARE_LIVE, values });
  const live = new Set(rows.map(({ jti }) => jti));
  return presented.map(({ claims }) => live.has(claims.jti));
}
