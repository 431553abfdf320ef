import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import * as client from 'openid-client';
import type { Claims } from '../identity/claims.js';
import { isObject } from '../../platform/http/parameters/json.js';

// openid-client rejects an ID token or userinfo if an optional member has a wrong type. So it receives the
// claims without such members, and validates all others: iss, aud, azp, exp, iat, nbf, alg. The signature is
// verified here, on the token as it was sent.

/**
 * Returns claims without unusable optional members and those that are null; ids that are numbers become text
 * (OpenID Connect Core §2).
 */
export function usableClaims(claims: Claims, clientId?: string): Claims {
  const { azp, aud } = claims;
  const without = Object.entries(claims).filter(([name, value]) => isUsable(name, value));
  const usable = without.map(([name, value]) => [name, IDS.has(name) ? textOf(value) : value] as const);
  // `azp` is optional, also beside several audiences (Core §3.1.3.7 with errata 2). If it is present, the
  // library compares it.
  const isShared = Array.isArray(aud) && aud.includes(clientId) && (azp ?? null) === null;
  return Object.fromEntries([...usable, ...(isShared ? [['aud', clientId] as const] : [])]);
}

const IDS: ReadonlySet<string> = new Set(['sub', 'sid']);

function isUsable(name: string, value: unknown): boolean {
  if (value === null) return false;
  if (name === 'nbf') return Number.isFinite(value);
  if (name === 'auth_time') return Number.isFinite(value) && (value as number) >= 0;
  return name !== 'at_hash' || typeof value === 'string';
}

/** A number beyond 2^53 stays one, which the library rejects: JSON.parse has rounded it. */
function textOf(value: unknown): unknown {
  return Number.isSafeInteger(value) ? String(value) : value;
}

/**
 * Returns an ID token with usable claims. Its signature does not fit: `verifySignature` needs the original.
 */
export function usableIdToken(token: string, clientId: string): string {
  const [header, payload, signature, ...others] = token.split('.');
  // the library rejects it
  if (payload === undefined || signature === undefined || others.length > 0) return token;
  const claims = parsed(payload);
  if (!claims) return token;
  const usable = Buffer.from(JSON.stringify(usableClaims(claims, clientId))).toString('base64url');
  return `${header}.${usable}.${signature}`;
}

function parsed(payload: string): Claims | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Verifies an ID token with the keys of the provider, fetched for this sign-in: a withdrawn key is rejected
 * at once.
 * @throws an Error
 */
export async function verifySignature(
  library: client.Configuration,
  token: string,
  signal: AbortSignal,
): Promise<void> {
  const { jwks_uri: url } = library.serverMetadata();
  if (url === undefined) throw new Error('the discovery document names no jwks_uri');
  const request = { method: 'GET', headers: {}, body: undefined, redirect: 'manual', signal } as const;
  const answer = await library[client.customFetch]!(url, request);
  await compactVerify(token, createLocalJWKSet((await answer.json()) as JSONWebKeySet));
}
