import type { ServerMetadata } from 'openid-client';

// openid-client refuses an answer for the type of members that are not used here. Only used members reach it; those of the
// wrong type count as left out. What is verified (issuer, algorithms, signatures, claims) stays with the library.

type Members = Readonly<Record<string, unknown>>;

/** In place of an access token that is not there: the library requires one. */
const NO_TOKEN = 'no access token';

/** The access token of the library's answer; undefined if the provider sent none. */
export function accessTokenIn({ access_token: token }: { access_token: string }): string | undefined {
  return token === NO_TOKEN ? undefined : token;
}

/** The answer of a token endpoint (RFC 6749 §5.1; OpenID Connect Core §3.1.3.3). The token is only used as a bearer token. */
export function usedTokens({ access_token: accessToken, id_token: idToken }: Members): object {
  return {
    access_token: isText(accessToken) ? accessToken : NO_TOKEN,
    token_type: 'Bearer',
    ...(isText(idToken) && { id_token: idToken }),
  };
}

const ADDRESSES = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'end_session_endpoint',
];
const LISTS = [
  'response_types_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'id_token_signing_alg_values_supported',
  'userinfo_signing_alg_values_supported',
];
const FLAGS = [
  'authorization_response_iss_parameter_supported',
  'require_pushed_authorization_requests',
  'require_signed_request_object',
];

/** A discovery document (OpenID Connect Discovery §3). A list without a text says nothing, and one text is a list of one. */
export function usedMetadata(document: Members): ServerMetadata {
  const kept = (names: readonly string[], valueOf: (value: unknown) => unknown): object =>
    Object.fromEntries(
      names.map((name) => [name, valueOf(document[name])]).filter(([, value]) => value !== undefined),
    ) as object;
  const { issuer } = document;
  return {
    issuer: isText(issuer) ? issuer : '',
    ...kept(ADDRESSES, (value) => (isText(value) ? value : undefined)),
    ...kept(LISTS, (value) => {
      const texts = [value].flat().filter(isText);
      return texts.length > 0 ? texts : undefined;
    }),
    ...kept(FLAGS, (value) => (value === true ? true : undefined)),
  };
}

/** What a public key is made of, by its type (RFC 7518 §6; RFC 8037 §2). */
const PARTS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['crv', 'x', 'y']],
  ['RSA', ['n', 'e']],
  ['OKP', ['crv', 'x']],
]);

/** The public keys of a key set (RFC 7517 §5) that can be used, each once, without private parts. */
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
    return undefined; // what the key is for is not known
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
