import { appendToEach, OWN_EVENTS_TTL } from '../../channel/append.sql.js';
import type { Sql } from '../../database/statements/sql.js';
import { isDeviceBeyond, upsertDevices } from '../../device/device.sql.js';
import {
  hasMostSessions,
  insertAccessTokens,
  insertRefreshTokens,
} from '../../token/sessions/session.sql.js';
import { upsertUsers } from '../../user/user.sql.js';
import type { Session } from '../../events.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { IssuedAccessToken } from '../../token/access-tokens/access-token.js';

/** What a sign-in writes. */
export interface SignIn {
  readonly session: Session;
  readonly provider: string;
  readonly identity: Identity;
  /** By what the provider may end the session (contract §6): hashes of its subject, and of its session. */
  readonly providerSubject: Buffer | null;
  readonly providerSession: Buffer | null;
  readonly deviceName: string | null;
  readonly userAgent: string | null;
  /** The key that the session is bound to: its thumbprint (RFC 7638). Null: it is not bound (contract §5). */
  readonly jkt: Buffer | null;
  readonly refreshTokenHash: Buffer;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  readonly accessToken: IssuedAccessToken;
}

/** What each sign-in brings: the column, its type, and its value. */
const COLUMNS: readonly (readonly [string, string, (signIn: SignIn) => unknown])[] = [
  ['user_id', 'uuid', ({ session }) => session.userId],
  ['provider', 'text', ({ provider }) => provider],
  ['provider_user_id', 'text', ({ identity }) => identity.providerUserId],
  ['username', 'text', ({ identity }) => identity.username],
  ['email', 'text', ({ identity }) => identity.email],
  ['avatar_url', 'text', ({ identity }) => identity.avatarUrl],
  ['device_id', 'uuid', ({ session }) => session.deviceId],
  ['device_name', 'text', ({ deviceName }) => deviceName],
  ['user_agent', 'text', ({ userAgent }) => userAgent],
  ['session_id', 'uuid', ({ session }) => session.sessionId],
  ['token_hash', 'bytea', ({ refreshTokenHash }) => refreshTokenHash],
  ['ttl', 'float8', ({ refreshTokenTtl }) => refreshTokenTtl],
  ['jkt', 'bytea', ({ jkt }) => jkt],
  ['provider_subject', 'bytea', ({ providerSubject }) => providerSubject],
  ['provider_session', 'bytea', ({ providerSession }) => providerSession],
  ['jti', 'uuid', ({ accessToken }) => accessToken.jti],
  ['expires_at', 'float8', ({ accessToken }) => accessToken.expiresAt],
  ['token', 'text', ({ accessToken }) => accessToken.token],
];
const names = COLUMNS.map(([name]) => name).join(', ');
// The SELECT hides the array's length from the planner, so that it keeps the generic plan: planning costs as much as a sign-in.
const arrays = COLUMNS.map(([, type], i) =>
  i === 0 ? `(SELECT $1::${type}[])` : `$${i + 1}::${type}[]`,
).join(', ');
const HISTORY = `$${COLUMNS.length + 1}`;
const PATIENCE = `$${COLUMNS.length + 2}`;

/**
 * All rows of sign-ins in one statement, so that they are stored together or not at all. It spans rooms: each room offers the SQL
 * for its tables (`*.sql.ts`).
 *
 * Locks are taken in one order, against deadlocks with removals (users.service.ts) and sign-outs (sign-out.service.ts): users,
 * devices, counters, tokens, each by key. The members of the `WITH` name each other, since PostgreSQL orders them by that alone.
 */
const RECORD = {
  name: 'sign-in',
  text: `
    WITH given AS MATERIALIZED (
      SELECT s.*, CASE
          WHEN ${hasMostSessions('s.user_id')} THEN NULL
          WHEN ${isDeviceBeyond('s.user_id', 's.device_id')} THEN NULL
          ELSE true
        END AS has_room -- or NULL, since the planner expects few of those
      FROM unnest(${arrays}) AS s (${names}),
        set_config('lock_timeout', coalesce(${PATIENCE}, current_setting('lock_timeout')), true)
    ), signing_in AS (SELECT * FROM given WHERE has_room IS NOT NULL
    ), signed_in_user AS (${upsertUsers('signing_in')}
      RETURNING user_id
    ), device AS (${upsertDevices('signing_in', 'signed_in_user')}
    ), ${appendToEach({
      event: `'device.signed_in'`,
      data: 'facts',
      ttl: String(OWN_EVENTS_TTL),
      history: HISTORY,
      from: 'device',
    })}, refresh_token AS (${insertRefreshTokens('signing_in')}
    ), access_token AS (${insertAccessTokens('signing_in', 'counter')}
    )
    SELECT user_id AS "userId", id, event_offset, data, sent_at, NULL AS beyond FROM channel_event
    UNION ALL
    SELECT user_id, NULL, NULL, NULL, NULL, CASE WHEN ${hasMostSessions('given.user_id')} THEN 'session' ELSE 'device' END
    FROM given WHERE has_room IS NULL`,
};

/** The event that announces a sign-in on a device, as it is stored; `data` is JSON. */
export interface SignedInRow {
  readonly id: string;
  readonly event_offset: string;
  readonly data: string;
  readonly sent_at: Date;
}

type Row = SignedInRow & { readonly userId: string; readonly beyond: Beyond | null } & Record<
    string,
    unknown
  >;

/** Bound of the user that a sign-in exceeds (contract §4, POST /oauth2/token). */
export type Beyond = 'session' | 'device';

/**
 * Records sign-ins of different users: all of them, or none. Sign-ins beyond the bounds of a user are left out. The bounds are
 * checked before the user is locked: concurrent sign-ins of one user, at most three per instance, may exceed them by two.
 *
 * @param history `Settings.channelHistory`
 * @param patience how long it waits for a lock, as PostgreSQL's `lock_timeout`; null: as long as any statement
 * @returns by user: the event, which a sign-in without a device has not, or what is beyond the bounds
 */
export async function signInTogether(
  sql: Sql,
  signIns: readonly SignIn[],
  history: number,
  patience: string | null,
): Promise<Map<string, SignedInRow | Beyond>> {
  const columns = COLUMNS.map(([, , valueOf]) => signIns.map(valueOf));
  const rows = await sql.query<Row>(RECORD, [...columns, history, patience]);
  return new Map(rows.map(({ userId, beyond, ...row }) => [userId, beyond ?? row]));
}
