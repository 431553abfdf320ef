import type { Client } from 'pg';
import { SERVICE_KEY } from './service-key.js';
import type { Target } from './target.js';

/**
 * Checks that a target judges access tokens by signature and row: a token of its own is active, one with another signature is not,
 * and neither is one whose row is gone, except where the target says by its name that it asks no database.
 * @throws Error that says what is wrong.
 */
export async function checkIntrospection(
  { name, port }: Target,
  admin: Client,
  refreshToken: string,
): Promise<void> {
  const base = `http://127.0.0.1:${port}/oauth2`;
  const active = async (token: string): Promise<boolean> => {
    const headers = { Authorization: `Bearer ${SERVICE_KEY}` };
    const body = new URLSearchParams({ token });
    const response = await fetch(`${base}/introspect`, { method: 'POST', headers, body });
    const answer = (await response.json()) as { active?: boolean };
    if (!response.ok || answer.active === undefined) throw new Error(`${name}: introspection is refused`);
    return answer.active;
  };
  const issued = await fetch(`${base}/refresh`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ refresh_token: refreshToken }),
  });
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const at = token.lastIndexOf('.') + 10;
  const forged = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
  if (!(await active(token))) throw new Error(`${name}: a token is not active`);
  if (await active(forged)) throw new Error(`${name}: a forged token is active`);
  if (name === 'floor-signature') return;
  for (const table of ['access_tokens', 'floor.access_tokens']) {
    await admin.query(`DELETE FROM ${table} WHERE token = $1`, [token]);
  }
  if (await active(token)) throw new Error(`${name}: a token without its row is active`);
}
