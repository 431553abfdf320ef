import type { AuditFacts, Origin } from '../../audit/audit-event.js';
import type { SessionIds } from '../../events.js';
import { toJson, type UserClaims } from '../../identity/claims.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { IssuedAccessToken } from '../../token/access-tokens/access-token.js';
import { searchKey } from '../../user/search-key.js';

export interface SignIn {
  readonly session: SessionIds;
  readonly provider: string;
  readonly identity: Identity;
  /** Hashes of the provider's subject and session, by which the provider may end the session. */
  readonly providerSubject: Buffer | null;
  readonly providerSession: Buffer | null;
  /** Encrypted (IdTokens); null: not stored. */
  readonly idToken: Buffer | null;
  readonly deviceName: string | null;
  readonly userAgent: string | null;
  /** Thumbprint (RFC 7638) of the key that the session is bound to; null: not bound. */
  readonly jkt: Buffer | null;
  readonly refreshTokenHash: Buffer;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  readonly accessToken: IssuedAccessToken;
  /** Claims of the access token, which a new user gets. */
  readonly claims: UserClaims;
  readonly origin: Origin;
}

/** Event `device.signed_in` as it was stored; `data` is JSON. */
export interface StoredDeviceEvent {
  readonly id: string;
  readonly event_offset: string;
  readonly data: string;
  readonly sent_at: Date;
}

/**
 * Why nothing was written: the bound that the user has reached (docs/security.md#database), the user is suspended, or
 * the claims of the user are not those of the token.
 */
export type RefusalReason = 'session' | 'device' | 'suspended' | 'claims';

/** Without a device, a sign-in has no event. */
export type SignInResult =
  { readonly refused: RefusalReason } | { readonly refused: null; readonly event: StoredDeviceEvent | null };

/** Columns of a sign-in, each an array of the statement: JSON takes 6 % more of the database's time (docs/benchmark.md). */
const COLUMNS = {
  user_id: 'uuid',
  provider: 'text',
  provider_user_id: 'text',
  username: 'text',
  email: 'text',
  avatar_url: 'text',
  username_key: 'text',
  email_key: 'text',
  provider_claims: 'jsonb',
  claims: 'jsonb',
  claims_version: 'bigint',
  has_application_claims: 'boolean',
  device_id: 'uuid',
  device_name: 'text',
  user_agent: 'text',
  address: 'text',
  request_id: 'text',
  session_id: 'uuid',
  token_hash: 'bytea',
  ttl: 'float8',
  jkt: 'bytea',
  provider_subject: 'bytea',
  provider_session: 'bytea',
  id_token: 'bytea',
  auth_time: 'float8',
  jti: 'uuid',
  token: 'text',
  token_expires_at: 'float8',
} as const;
type Column = keyof typeof COLUMNS;

/** A sign-in as its columns. Times are in seconds: `ttl` from now, the others since the epoch. */
export type SignInRow = Readonly<Record<Column, unknown>>;

const names = Object.keys(COLUMNS) as Column[];
/** For SIGN_IN: the names, and the parameters from `$4` on. */
export const NAMES = names.join(', ');
// The SELECT hides the length of the arrays from the planner. Else plans for few rows look cheaper than the generic plan, and
// planning costs as much as a sign-in.
export const ARRAYS = names
  .map((name, i) => `$${i + 4}::${COLUMNS[name]}[]`)
  .map((array, i) => (i === 0 ? `(SELECT ${array})` : array))
  .join(', ');

/** Returns the parameters ARRAYS. */
export function toArrays(rows: readonly SignInRow[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}

export function toRow({ session, identity, origin, accessToken, claims, ...signIn }: SignIn): SignInRow {
  return {
    user_id: session.userId,
    provider: signIn.provider,
    provider_user_id: identity.providerUserId,
    username: identity.username,
    email: identity.email,
    avatar_url: identity.avatarUrl,
    username_key: identity.username === null ? null : searchKey(identity.username),
    email_key: identity.email === null ? null : searchKey(identity.email),
    provider_claims: toJson(claims.provider),
    claims: toJson(claims.effective),
    claims_version: claims.version,
    has_application_claims: toJson(claims.application) !== null,
    device_id: session.deviceId,
    device_name: signIn.deviceName,
    user_agent: signIn.userAgent,
    address: origin.address,
    request_id: origin.requestId,
    session_id: session.sessionId,
    token_hash: signIn.refreshTokenHash,
    ttl: signIn.refreshTokenTtl,
    jkt: signIn.jkt,
    provider_subject: signIn.providerSubject,
    provider_session: signIn.providerSession,
    id_token: signIn.idToken,
    auth_time: identity.authTime,
    jti: accessToken.jti,
    token: accessToken.token,
    token_expires_at: accessToken.expiresAt,
  };
}

export function toAuditFacts({ session, provider, identity, userAgent, origin }: SignIn): AuditFacts {
  const actor = { type: 'user', name: session.userId } as const;
  const { providerUserId } = identity;
  return { event: 'sign_in', ...session, provider, providerUserId, origin: { ...origin, userAgent, actor } };
}
