import type { ServerMetadata } from 'openid-client';
import { usableIdToken } from './id-token.js';

// openid-client rejects an answer if an unused member has a wrong type. So it receives the used members only;
// a used member of a wrong type counts as absent. The library verifies issuer, algorithms, signatures and
// claims.

type Members = Readonly<Record<string, unknown>>;

const NO_TOKEN = 'no access token'; // placeholder for an absent access token, which the library requires

export function accessTokenIn({ access_token: token }: { access_token: string }): string | undefined {
  return token === NO_TOKEN ? undefined : token;
}

/** The ID token as it was sent, beside the one that openid-client validates (id-token.ts). */
export const ORIGINAL = 'original_id_token';

/**
 * Answer of a token endpoint (RFC 6749 §5.1; OpenID Connect Core §3.1.3.3). The token is used as a bearer
 * token only.
 */
export function usedTokens(
  { access_token: accessToken, id_token: idToken, refresh_token: refreshToken }: Members,
  clientId: string,
): object {
  return {
    access_token: isText(accessToken) ? accessToken : NO_TOKEN,
    token_type: 'Bearer',
    ...(isText(refreshToken) && { refresh_token: refreshToken }),
    ...(isText(idToken) && { id_token: usableIdToken(idToken, clientId), [ORIGINAL]: idToken }),
  };
}

/**
 * Answer to a pushed authorization request (RFC 9126 §2.2). The library requires a lifetime, which is not
 * used.
 */
export function usedPushed({ request_uri: requestUri }: Members): object {
  return { request_uri: requestUri, expires_in: 60 };
}

const ADDRESSES = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'end_session_endpoint',
  'pushed_authorization_request_endpoint',
];
const LISTS = [
  'response_types_supported',
  'scopes_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'prompt_values_supported',
  'id_token_signing_alg_values_supported',
  'userinfo_signing_alg_values_supported',
];
const FLAGS = [
  'authorization_response_iss_parameter_supported',
  'require_pushed_authorization_requests',
  'require_signed_request_object',
];

/**
 * Discovery document (OpenID Connect Discovery §3). A list without a text counts as absent, a single text as
 * a list.
 */
export function usedMetadata(document: Members): ServerMetadata {
  const usable = (names: readonly string[], valueOf: (value: unknown) => unknown): object =>
    Object.fromEntries(
      names.map((name) => [name, valueOf(document[name])]).filter(([, value]) => value !== undefined),
    ) as object;
  const { issuer } = document;
  return {
    issuer: isText(issuer) ? issuer : '',
    ...usable(ADDRESSES, (value) => (isText(value) ? value : undefined)),
    ...usable(LISTS, (value) => {
      const texts = [value].flat().filter(isText);
      return texts.length > 0 ? texts : undefined;
    }),
    ...usable(FLAGS, (value) => (value === true ? true : undefined)),
  };
}

/** Members of a public key, by its type (RFC 7518 §6; RFC 8037 §2). */
const PARTS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['crv', 'x', 'y']],
  ['RSA', ['n', 'e']],
  ['OKP', ['crv', 'x']],
]);

/** Usable public keys of a key set (RFC 7517 §5), without private parts and repetitions. */
export function usedKeys({ keys }: Members): { keys: Record<string, unknown>[] } {
  const used = (Array.isArray(keys) ? keys : []).map(usedKey).filter((key) => key !== undefined);
  return { keys: [...new Map(used.map((key) => [JSON.stringify(key), key])).values()] };
}

function usedKey(key: unknown): Record<string, unknown> | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  const { kty, kid, use, alg, key_ops: operations, ...others } = key as Members;
  const parts = PARTS.get(kty)?.map((name) => [name, others[name]] as const);
  if (!parts?.every(([, value]) => typeof value === 'string' && /^[\w-]+$/.test(value))) return undefined;
  if (![use, alg].every((value) => value === undefined || value === null || typeof value === 'string')) {
    return undefined; // its purpose is unknown
  }
  return {
    kty,
    ...Object.fromEntries(parts),
    ...(isText(kid) && { kid }),
    ...(isText(use) && { use }),
    ...(isText(alg) && { alg }),
    ...(Array.isArray(operations) && { key_ops: operations as unknown[] }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
