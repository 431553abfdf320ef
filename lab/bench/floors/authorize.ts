import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { CLIENT_ID } from '../names.js';
import type { Handler } from './server.js';
import { sha256 } from './session.js';

const SAVE = {
  name: 'state-save',
  text: `
    INSERT INTO floor.authorization_states (state_hash, provider, redirect_uri, expires_at)
    VALUES ($1, $2, $3, now() + interval '10 minutes')`,
};

const CONSUME = {
  name: 'state-consume',
  text: `
    DELETE FROM floor.authorization_states WHERE state_hash = $1 AND expires_at > now()
    RETURNING provider, redirect_uri AS "redirectUri"`,
};

/** GET /oauth2/authorize (spec §4.2). */
export function authorize(pool: Pool, providerUrl: string): Handler {
  return async ({ provider, redirect_uri }) => {
    const state = randomBytes(32).toString('hex');
    await pool.query({ ...SAVE, values: [sha256(state), provider, redirect_uri] });
    const query = new URLSearchParams({ state, client_id: CLIENT_ID, redirect_uri: redirect_uri! });
    return { redirect_url: `${providerUrl}/oauth2/authorize?${query.toString()}`, state };
  };
}

/** Spends the state of an authorization. */
export async function consumeState(
  pool: Pool,
  state: string,
): Promise<{ provider: string; redirectUri: string }> {
  const { rows } = await pool.query<{ provider: string; redirectUri: string }>({
    ...CONSUME,
    values: [sha256(state)],
  });
  if (!rows[0]) throw new Error('unknown state');
  return rows[0];
}
