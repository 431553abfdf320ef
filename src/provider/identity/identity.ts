import { OAuthError } from '../../platform/errors/oauth-error.js';
import { parseUrl } from '../../platform/config/urls/urls.js';
import type { ClaimMap } from '../../platform/config/providers/claim-map.js';
import { isObject } from '../../platform/http/parameters/json.js';
import { describeCuts } from '../../identity/claim-limits.js';
import { claimAt, isUnverified, isVerified, type Claims } from './claims.js';
import { describeClaims, selectClaims } from './select-claims.js';

/** Identity of spec §2.5; optional fields are null if they are absent or unusable. */
export interface Identity {
  readonly providerUserId: string;
  readonly username: string | null;
  readonly email: string | null;
  readonly avatarUrl: string | null;
  /** Names of user and session in the provider's logout tokens. */
  readonly subject: string | null;
  readonly session: string | null;
  /** Time of the authentication as the provider reports it, seconds since the epoch; null: not reported. */
  readonly authTime: number | null;
  /** Class and methods of the authentication (OpenID Connect Core §2: `acr`, `amr`); null: not reported. */
  readonly acr: string | null;
  readonly amr: string[] | null;
  /** ID token for `id_token_hint`. */
  readonly idToken: string | null;
  /** When the session at the provider ends, in seconds since the epoch; null: not reported. */
  readonly sessionExpiry: number | null;
  /** Refresh token of the provider, with `ProviderSettings.offline`. */
  readonly refreshToken: string | null;
  /** Names of the user at the paths of `ProviderSettings.keeps`, by path; null: absent or unusable. */
  readonly names: Readonly<Record<string, string | null>>;
  /** Claims of the user from the provider; empty if there are none. */
  readonly claims: Claims;
  /** Claims of a feature, which are laid over the provider's until the next sign-in, and part of `claims`. */
  readonly overlay: Claims;
  /** For the setting `allow`, which no token and no answer contains. */
  readonly proof: IdentityProof;
  readonly facts: IdentityFacts;
}

/**
 * What features find out about a user who signs in, as JSON. Each feature declares the members that it writes
 * or reads (declaration merging, TypeScript handbook), so that no feature needs the folder of another one.
 *
 * @public
 */
export interface IdentityFacts {}

/** How far the provider vouches for the identity. */
interface IdentityProof {
  /** Whether the provider calls the e-mail address verified. */
  readonly isEmailVerified: boolean;
  /** `hd` of Google, null without it; undefined: no claim of this provider. */
  readonly hostedDomain: string | null | undefined;
  /** Claims before a cut (docs/provider-contract.md). */
  readonly claims: Claims;
}

/** Characters of an `acr`, and of each of the methods: both are part of each token. */
const MAX_ACR = 255;
const MAX_METHOD = 64;
const MOST_METHODS = 10;

/** Name of the user id among the paths of `ProviderSettings.keeps`. @public */
export const USER_ID = 'provider_user_id';

const MAX_ID_TOKEN = 6144; // characters: it becomes part of a URL
const MAX_REFRESH_TOKEN = 16_384; // characters

/**
 * Validates a provider's answer. Unusable optional fields are dropped.
 * @param warn receives a line for claims that are dropped, cut, or not understood, and the id of the user
 * @throws OAuthError `server_error` without a usable `provider_user_id`, or with an unusable `session_expiry`
 */
export function parseIdentity(
  body: unknown,
  warn?: (line: string, providerUserId: string) => void,
  rules: {
    readonly maps?: ReadonlyMap<string, ClaimMap>;
    readonly settingOf?: (name: string) => string;
  } = {},
): Identity {
  const fields: Claims = isObject(body) ? body : {};
  const { provider_user_id: providerUserId, username, email, avatar_url: avatarUrl } = fields;
  const { subject, session, auth_time: authTime, acr, amr, id_token: idToken } = fields;
  const { hosted_domain: hostedDomain, session_expiry: sessionExpiry, refresh_token: refreshToken } = fields;
  if (!isName(providerUserId)) {
    throw new OAuthError('server_error', 'the provider sent no usable provider_user_id');
  }
  if ((sessionExpiry ?? null) !== null && !Number.isSafeInteger(sessionExpiry)) {
    const line = 'the provider sent a session_expiry that is no integer';
    warn?.(line, providerUserId);
    throw new OAuthError('server_error', line);
  }
  const claims = selectClaims(fields['claims'], rules.maps);
  for (const line of describeClaims(claims)) warn?.(line, providerUserId);
  if (claims.cuts.length > 0) warn?.(describeCuts(claims.cuts, rules.settingOf), providerUserId);
  const isDoubtful = isUnverified(fields);
  return {
    providerUserId,
    username: isText(username, 255) ? username : null,
    email: isText(email, 255) && !isDoubtful ? email : null,
    avatarUrl: isHttpUrl(avatarUrl) ? avatarUrl : null,
    subject: isName(subject) ? subject : null,
    session: isName(session) ? session : null,
    authTime: typeof authTime === 'number' && authTime >= 0 && authTime <= LATEST ? authTime : null,
    acr: isPlain(acr, MAX_ACR) ? acr : null,
    amr: Array.isArray(amr) && amr.length <= MOST_METHODS && amr.every(isMethod) ? amr : null,
    idToken: typeof idToken === 'string' && idToken.length <= MAX_ID_TOKEN ? idToken : null,
    sessionExpiry: (sessionExpiry as number | null | undefined) ?? null,
    refreshToken: isToken(refreshToken) ? refreshToken : null,
    claims: isDoubtful ? withoutEmail(claims.accepted) : claims.accepted,
    proof: {
      isEmailVerified: isVerified(fields),
      hostedDomain: hostedDomain === undefined || isText(hostedDomain, 255) ? hostedDomain : null,
      claims: isDoubtful ? withoutEmail(claims.whole) : claims.whole,
    },
    names: {},
    overlay: {},
    facts: {},
  };
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_REFRESH_TOKEN;
}

/** APIs read the claim `email` of the token as they read the field. */
function withoutEmail({ email: _email, ...others }: Claims): Claims {
  return others;
}

/** Whether a value can be an id: 1 to 255 characters that PostgreSQL can store. @public */
export function isName(value: unknown): value is string {
  return isText(value, 255) && value !== '';
}

export function isHttpUrl(value: unknown): value is string {
  return isText(value, 2048) && /^https?:\/\//i.test(value) && parseUrl(value) !== undefined;
}

const LATEST = 253_402_300_799; // the end of the year 9999

/** Printable ASCII without quotes, for headers (RFC 9470 §3): names of RFC 6711 and RFC 8176, URIs. */
function isPlain(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength && /^[ !#-[\]-~]+$/.test(value);
}

const isMethod = (value: unknown): value is string => isPlain(value, MAX_METHOD);

/** Whether PostgreSQL stores a text unchanged: no NUL, no lone surrogate. The length is in characters. */
function isText(value: unknown, maxLength: number): value is string {
  return (
    typeof value === 'string' &&
    value.length <= 2 * maxLength &&
    Array.from(value).length <= maxLength &&
    value.isWellFormed() &&
    !value.includes('\0')
  );
}

/**
 * Returns `Identity.names`.
 * @param raw claims as the provider sent them; empty for other adapters than `oidc` and `oauth2`
 * @param paths each a path in these claims, the name of a kept claim, or `provider_user_id`
 */
export function namesAt(
  { providerUserId, proof }: Identity,
  raw: Claims,
  paths: readonly string[],
): Identity['names'] {
  const nameAt = (path: string): unknown =>
    path === USER_ID ? providerUserId : (claimAt(raw, path, 'id') ?? proof.claims[path]);
  return Object.fromEntries(
    paths.map((path) => {
      const name = nameAt(path);
      return [path, isName(name) ? name : null] as const;
    }),
  );
}
