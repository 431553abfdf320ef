import { hash } from 'node:crypto';
import { compactVerify, createLocalJWKSet, decodeJwt, decodeProtectedHeader } from 'jose';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import type { Claims } from '../identity/claims.js';
import { ProviderRefusal, readObject } from '../transport/provider-answer.js';
import type { OidcClient, Tokens } from './oidc-client.js';
import { advice, ASYMMETRIC, listNames, Unsupported } from './unsupported.js';

export type UserClaims = Claims & { readonly sub: string };

const TOLERANCE_S = 30; // seconds by which the provider's clock may differ
/** Required claims of an ID token (OpenID Connect Core §2), and of userinfo (Core §5.3.2). */
const OF_ID_TOKEN: ReadonlySet<string> = new Set(['iss', 'aud', 'sub', 'exp', 'iat']);
const OF_USERINFO: ReadonlySet<string> = new Set(['sub']);

/**
 * Verifies an ID token (OpenID Connect Core §3.1.3.7).
 * @param nonce of the sign-in; undefined: none was sent
 * @returns its usable claims
 */
export async function verifyIdToken(
  client: OidcClient,
  { idToken, accessToken }: Tokens,
  nonce: string | undefined,
): Promise<UserClaims> {
  if (idToken === undefined) throw new Error('the provider sent no ID token; is openid in the scope?');
  const claims = await verifySignature(client, idToken, 'idToken');
  validateClaims(client, claims, OF_ID_TOKEN);
  if (nonce !== undefined && claims['nonce'] === undefined) throw new Error('the ID token has no nonce');
  // The code belongs to another sign-in (RFC 9700 §4.5.3.2).
  if (nonce !== undefined && claims['nonce'] !== nonce)
    throw new ProviderRefusal('invalid_grant', 'the nonce is of another sign-in');
  const { at_hash: atHash } = claims;
  if (atHash !== undefined && accessToken !== undefined && !atHashMatches(idToken, accessToken, atHash)) {
    throw new Error('the at_hash of the ID token is not the one of the access token');
  }
  checkTenant(client.provider, claims);
  return claims;
}

/**
 * Asks the userinfo endpoint, which answers with JSON or a signed JWT (OpenID Connect Core §5.3.2).
 * @param subject of the ID token, if there was one
 * @returns the usable claims
 */
export async function fetchUserinfo(
  client: OidcClient,
  accessToken: string,
  subject?: string,
): Promise<UserClaims> {
  const answer = await client.userinfo(accessToken);
  const isJwt = /^\s*application\/jwt\s*(?:;|$)/i.test(answer.contentType ?? '');
  const claims = isJwt
    ? await verifySignature(client, Buffer.from(answer.body).toString(), 'userinfo')
    : usableClaims(readObject(answer));
  if (isJwt) validateClaims(client, claims, OF_USERINFO);
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '') throw new Error('the userinfo has no usable sub');
  if (subject !== undefined && sub !== subject) {
    throw new Error('the sub of the userinfo is not the one of the ID token');
  }
  return { ...claims, sub };
}

/**
 * Verifies the signature of a JWT with the keys of the provider.
 * @returns its usable claims, which are not validated
 * @throws Unsupported if it is encrypted, or signed by an algorithm that the provider does not announce
 */
async function verifySignature(
  client: OidcClient,
  jwt: string,
  kind: 'idToken' | 'userinfo',
): Promise<Claims> {
  const { provider, metadata } = client;
  const unsupported = (what: 'Signature' | 'Encryption', seen: string): Error =>
    new Unsupported(provider.name, [new Error(advice(`${kind}${what}`, seen))]);
  if (jwt.split('.').length === 5) throw unsupported('Encryption', 'a JWE');
  const { alg, crit } = headerOf(jwt);
  const announced =
    kind === 'idToken'
      ? (metadata.id_token_signing_alg_values_supported ?? ['RS256'])
      : (metadata.userinfo_signing_alg_values_supported ?? []);
  if (alg === undefined || !announced.includes(alg) || !ASYMMETRIC.test(alg)) {
    throw unsupported('Signature', `JWT "alg" header parameter: ${listNames([String(alg)])}`);
  }
  if (crit !== undefined) throw new Error('no JWT "crit" header parameter extensions are supported');
  await compactVerify(jwt, createLocalJWKSet(await client.keys()));
  return usableClaims(decodeJwt(jwt));
}

function headerOf(jwt: string) {
  try {
    return decodeProtectedHeader(jwt);
  } catch {
    throw new Error('failed to parse JWT header');
  }
}

/**
 * Returns claims without unusable optional members and those that are null; ids that are numbers become text
 * (OpenID Connect Core §2).
 */
function usableClaims(claims: Claims): Claims {
  const usable = Object.entries(claims).filter(([name, value]) => isUsable(name, value));
  return Object.fromEntries(usable.map(([name, value]) => [name, IDS.has(name) ? textOf(value) : value]));
}

const IDS: ReadonlySet<string> = new Set(['sub', 'sid']);

function isUsable(name: string, value: unknown): boolean {
  if (value === null) return false;
  if (name === 'nbf') return Number.isFinite(value);
  if (name === 'auth_time') return Number.isFinite(value) && (value as number) >= 0;
  return name !== 'at_hash' || typeof value === 'string';
}

/** A number beyond 2^53 stays one, which is rejected: JSON.parse has rounded it. */
function textOf(value: unknown): unknown {
  return Number.isSafeInteger(value) ? String(value) : value;
}

function validateClaims(
  { provider: { clientId, options }, metadata: { issuer } }: OidcClient,
  claims: Claims,
  required: ReadonlySet<string>,
): asserts claims is UserClaims {
  const { iss, aud, azp, sub, exp, iat, nbf, tid } = claims;
  const now = Math.floor(Date.now() / 1000);
  const audiences = [aud].flat();
  // Microsoft's issuer of many tenants (discover): the ID token names one.
  const expected =
    options['tenants'] === undefined ? issuer : issuer.replace('{tenantid}', () => String(tid));
  const rules: readonly [name: string, meaning: string, isValid: boolean][] = [
    ['iss', 'issuer', iss === expected],
    ['aud', 'audience', audiences.includes(clientId)],
    // Optional, also beside several audiences (Core §3.1.3.7 with errata 2).
    ['azp', 'authorized party', audiences.length === 1 || azp === clientId],
    ['sub', 'subject', typeof sub === 'string'],
    ['exp', 'expiration time', typeof exp === 'number' && exp > now - TOLERANCE_S],
    ['iat', 'issued at', typeof iat === 'number'],
    ['nbf', 'not before', (nbf as number) <= now + TOLERANCE_S],
  ];
  for (const [name, meaning, isValid] of rules) {
    const isMissing = claims[name] === undefined;
    if (isMissing && required.has(name)) throw new Error(`JWT "${name}" (${meaning}) claim missing`);
    if (!isMissing && !isValid) throw new Error(`unexpected JWT "${name}" (${meaning}) claim value`);
  }
}

/**
 * Whether `at_hash` belongs to the access token (OpenID Connect Core §3.1.3.6).
 * @param idToken is verified
 */
export function atHashMatches(idToken: string, accessToken: string, atHash: unknown): boolean {
  const { alg } = decodeProtectedHeader(idToken);
  const size = /256|384/.exec(alg ?? '')?.[0] ?? '512'; // Ed25519 uses SHA-512
  const digest = hash(`sha${size}`, accessToken, 'buffer');
  return digest.subarray(0, digest.length / 2).toString('base64url') === atHash;
}

/** @throws ProviderRefusal for a tenant that is not in the settings */
function checkTenant({ url, options }: ProviderSettings, { tid }: Claims): void {
  const allowed = options['tenants']?.split(',').map((id) => id.trim().toLowerCase());
  if (!allowed || (typeof tid === 'string' && allowed.includes(tid.toLowerCase()))) return;
  const tenant = typeof tid === 'string' && /^[\da-f-]{36}$/i.test(tid) ? tid : 'without a usable id';
  const message = `the user is of the tenant ${tenant}, which is not in tenants`;
  throw new ProviderRefusal('invalid_grant', message, { url: url!, settings: ['tenants'] });
}
