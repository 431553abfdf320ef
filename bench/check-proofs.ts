import { generateKeyPairSync } from 'node:crypto';
import { Prover, type BoundSession } from './bound-session.js';
import type { Target } from './target.js';

/**
 * Checks that a target asks for a proof of the session's key at each refresh, and takes each proof once.
 * @throws Error that says what is wrong.
 */
export async function checkProofs(
  { name, port }: Target,
  { refreshToken, key }: BoundSession,
): Promise<void> {
  const refresh = async (proof?: string): Promise<boolean> => {
    const headers = { 'Content-Type': 'application/json', ...(proof !== undefined && { DPoP: proof }) };
    const body = JSON.stringify({ refresh_token: refreshToken });
    const { ok } = await fetch(`http://127.0.0.1:${port}/oauth2/refresh`, { method: 'POST', headers, body });
    return ok;
  };
  const proof = new Prover(key).proof();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const foreign = new Prover(privateKey.export({ format: 'jwk' })).proof();
  if (!(await refresh(proof))) throw new Error(`${name}: a proof was refused`);
  if (await refresh(proof)) throw new Error(`${name}: a proof was taken twice`);
  if (await refresh(foreign)) throw new Error(`${name}: a proof of another key was taken`);
  if (await refresh()) throw new Error(`${name}: no proof was asked for`);
}
