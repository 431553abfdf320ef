import type { AuditFacts, Origin } from '../../audit/audit-event.js';
import { addressKey } from '../../platform/config/urls/email-address.js';
import type { SessionIds } from '../../platform/events.js';
import { areSameClaims, toJson, type UserClaims } from '../../identity/claims.js';
import { deriveUserId } from '../../identity/user-id.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { IssuedAccessToken } from '../../token/access-tokens/access-token.js';
import { nameKeys, type LastIdentity } from '../../user/last-identity.js';
import { wordKeys } from '../../user/search/user-words.js';

export interface SignIn {
  readonly session: SessionIds;
  readonly provider: string;
  readonly identity: Identity;
  /** When the provider was asked: milliseconds, by the database's clock. */
  readonly requestedAt: number;
  /** Begin of the earlier sign-in on which it rests, likewise. */
  readonly begunAt?: number | undefined;
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
  /** Seconds without a use after which the session ends; null: any. */
  readonly idleTtl: number | null;
  /** When the provider ends the session, in seconds since the epoch; null: not before `refreshTokenTtl`. */
  readonly sessionExpiry: number | null;
  readonly accessToken: IssuedAccessToken;
  /** The user delegates the session to a program: the feature that does so records it. */
  readonly isDelegated?: boolean;
  /** Identity that was verified, if it is one that the user has joined to their own. */
  readonly joined?: Pick<SignIn, 'provider' | 'identity'> | undefined;
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
 * Why nothing was written: the bound that the user has reached (docs/security.md#database), the user is
 * suspended, all sessions of the user have ended since the sign-in began, or the claims of the user are not
 * those of the token.
 */
export type RefusalReason = 'session' | 'device' | 'suspended' | 'signed_out' | 'claims';

export interface Recorded {
  readonly isFirst: boolean;
  /** Null without a device. */
  readonly event: StoredDeviceEvent | null;
}

/** Nothing was written, because the identity is joined to that of another user. */
export interface Merged {
  readonly refused: 'merged';
  /** Id of that user. */
  readonly mergedInto: string;
}

export type SignInResult =
  | { readonly refused: RefusalReason }
  | Merged
  | (Recorded & { readonly refused: null });

/** What is new about a sign-in (docs/audit.md#new-devices-and-networks); null: it cannot be known. */
export interface SignInNews {
  /** FIRST_SIGN_IN, APPROVED or null. */
  readonly reason: string | null;
  readonly newDevice: boolean | null;
  readonly newNetwork: boolean | null;
}

export const FIRST_SIGN_IN = 'first sign-in';
/** Reason: it rests on an earlier sign-in, and the provider was not asked. @public */
export const APPROVED = 'approved on another device';

/**
 * Columns of a sign-in: type and value. Times are in seconds: `ttl` from now, the others since the epoch.
 * Each is an array of SIGN_IN, since JSON takes more of the database's time
 * (lab/bench/README.md#tried-without-gain).
 */
const COLUMNS = {
  user_id: ['uuid', ({ session }) => session.userId],
  // For the trail, and for a new user, who has joined none.
  provider: ['text', ({ joined, provider }) => joined?.provider ?? provider],
  provider_user_id: ['text', ({ joined, identity }) => (joined?.identity ?? identity).providerUserId],
  username: ['text', ({ identity }) => identity.username],
  email: ['text', ({ identity }) => identity.email],
  avatar_url: ['text', ({ identity }) => identity.avatarUrl],
  identity: ['jsonb', ({ identity }) => toJson({ ...toLastIdentity(identity) })],
  word_keys: ['text', toWordKeys],
  email_key: ['text', ({ identity }) => toKey(identity.email)],
  provider_claims: ['jsonb', ({ claims }) => toJson(claims.provider)],
  claims: ['jsonb', ({ claims }) => toJson(claims.effective)],
  claims_version: ['bigint', ({ claims }) => claims.version],
  has_application_claims: ['boolean', ({ claims }) => toJson(claims.application) !== null],
  device_id: ['uuid', ({ session }) => session.deviceId],
  device_name: ['text', ({ deviceName }) => deviceName],
  user_agent: ['text', ({ userAgent }) => userAgent],
  requested_at: ['float8', ({ requestedAt }) => requestedAt / 1000],
  address: ['text', ({ origin }) => origin.address],
  request_id: ['uuid', ({ origin }) => origin.requestId],
  session_id: ['uuid', ({ session }) => session.sessionId],
  token_hash: ['bytea', ({ refreshTokenHash }) => refreshTokenHash],
  ttl: ['float8', ({ refreshTokenTtl }) => refreshTokenTtl],
  idle_ttl: ['float8', ({ idleTtl }) => idleTtl],
  session_expiry: ['float8', ({ sessionExpiry }) => sessionExpiry],
  begun_at: ['float8', ({ begunAt }) => (begunAt === undefined ? null : begunAt / 1000)],
  jkt: ['bytea', ({ jkt }) => jkt],
  provider_subject: ['bytea', ({ providerSubject }) => providerSubject],
  provider_session: ['bytea', ({ providerSession }) => providerSession],
  joined_identity_id: ['uuid', ({ joined }) => joined && toUserId(joined)],
  id_token: ['bytea', ({ idToken }) => idToken],
  auth_time: ['float8', ({ identity }) => identity.authTime],
  jti: ['uuid', ({ accessToken }) => accessToken.jti],
  token: ['text', ({ accessToken }) => accessToken.token],
  token_expires_at: ['float8', ({ accessToken }) => accessToken.expiresAt],
} as const satisfies Record<string, readonly [string, (signIn: SignIn) => unknown]>;
type Column = keyof typeof COLUMNS;

const columns = Object.entries<readonly [string, (signIn: SignIn) => unknown]>(COLUMNS);
/** For SIGN_IN: the names, and the parameters from `$4` on. */
export const NAMES = Object.keys(COLUMNS).join(', ');
// The SELECT hides the length of the arrays from the planner. Else plans for few rows look cheaper than the
// generic plan, and planning costs as much as a sign-in.
export const ARRAYS = columns
  .map(([, [type]], i) => (i === 0 ? `(SELECT $4::${type}[])` : `$${i + 4}::${type}[]`))
  .join(', ');

/** Returns the parameters ARRAYS. */
export function toArrays(signIns: readonly SignIn[]): unknown[][] {
  return columns.map(([, [, toValue]]) => signIns.map(toValue));
}

export type SignInRow = Readonly<Record<Column, unknown>>;

export function toRow(signIn: SignIn): SignInRow {
  return Object.fromEntries(columns.map(([name, [, toValue]]) => [name, toValue(signIn)])) as SignInRow;
}

function toUserId({ provider, identity }: Pick<SignIn, 'provider' | 'identity'>): string {
  return deriveUserId(provider, identity.providerUserId);
}

function toKey(text: string | null): string | null {
  return text === null ? null : addressKey(text);
}

function toWordKeys({ provider, identity }: SignIn): string {
  const { providerUserId, username, email } = identity;
  return [...wordKeys(username, email), ...nameKeys(provider, providerUserId, identity)].join('\n');
}

function toLastIdentity({ subject, email, names, claims, overlay, proof }: Identity): LastIdentity {
  const hasNames = Object.keys(names).length > 0;
  const hasOverlay = Object.keys(overlay).length > 0;
  // A directory changes the stored claims, and an overlay hides some of them.
  const isOther = hasNames || hasOverlay || !areSameClaims(proof.claims, claims);
  return {
    ...(subject !== null && { subject }),
    ...(email !== null && { email }),
    ...(proof.isEmailVerified && { isEmailVerified: true }),
    ...(proof.hostedDomain !== undefined && { hostedDomain: proof.hostedDomain }),
    ...(hasNames && { names }),
    ...(isOther && { claims: proof.claims }),
    ...(hasOverlay && { overlay }),
  };
}

export function toAuditFacts(
  { session, provider, identity, joined = { provider, identity }, userAgent, origin }: SignIn,
  { reason, newDevice, newNetwork }: SignInNews,
): AuditFacts {
  const actor = { type: 'user', name: session.userId } as const;
  return {
    event: 'sign_in',
    ...session,
    provider: joined.provider,
    providerUserId: joined.identity.providerUserId,
    reason: reason ?? undefined,
    newDevice,
    newNetwork,
    origin: { ...origin, userAgent, actor },
  };
}
