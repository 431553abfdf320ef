import type { JSONWebKeySet, JWK } from 'jose';

// What is not used never fails a sign-in: a used member of a wrong type counts as absent.

type Members = Readonly<Record<string, unknown>>;

const ADDRESSES = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'end_session_endpoint',
  'pushed_authorization_request_endpoint',
] as const;
const LISTS = [
  'response_types_supported',
  'scopes_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'prompt_values_supported',
  'id_token_signing_alg_values_supported',
  'userinfo_signing_alg_values_supported',
] as const;
const FLAGS = [
  'authorization_response_iss_parameter_supported',
  'require_pushed_authorization_requests',
  'require_signed_request_object',
] as const;

/** Used members of a discovery document (OpenID Connect Discovery §3). */
export type Metadata = { readonly issuer: string } & {
  readonly [name in (typeof ADDRESSES)[number]]?: string;
} & { readonly [name in (typeof LISTS)[number]]?: readonly string[] } & {
  readonly [name in (typeof FLAGS)[number]]?: true;
};

/** A list without a text counts as absent, a single text as a list. */
export function usedMetadata(document: Members): Metadata {
  const usable = (names: readonly string[], valueOf: (value: unknown) => unknown): object =>
    Object.fromEntries(
      names.map((name) => [name, valueOf(document[name])]).filter(([, value]) => value !== undefined),
    ) as object;
  const { issuer } = document;
  return {
    issuer: textIn(issuer) ?? '',
    ...usable(ADDRESSES, textIn),
    ...usable(LISTS, (value) => {
      const texts = [value].flat().filter((one) => textIn(one) !== undefined);
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
export function usedKeys({ keys }: Members): JSONWebKeySet {
  const used = (Array.isArray(keys) ? keys : []).map(usedKey).filter((key) => key !== undefined);
  return { keys: [...new Map(used.map((key) => [JSON.stringify(key), key])).values()] };
}

function usedKey(key: unknown): JWK | undefined {
  if (typeof key !== 'object' || key === null) return undefined;
  const { kty, kid, use, alg, key_ops: operations, ...others } = key as Members;
  const parts = PARTS.get(kty)?.map((name) => [name, others[name]] as const);
  if (!parts?.every(([, value]) => typeof value === 'string' && /^[\w-]+$/.test(value))) return undefined;
  if (![use, alg].every((value) => value === undefined || value === null || typeof value === 'string')) {
    return undefined; // its purpose is unknown
  }
  const optional = {
    kid: textIn(kid),
    use: textIn(use),
    alg: textIn(alg),
    key_ops: Array.isArray(operations) ? operations : undefined,
  };
  const used = Object.entries(optional).filter(([, value]) => value !== undefined);
  return Object.fromEntries([['kty', kty], ...parts, ...used]);
}

/** Returns a text that is not empty, or undefined for anything else. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
