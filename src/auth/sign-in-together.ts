import { appendToEach } from '../channel/append-many.sql.js';
import { OWN_EVENTS_TTL } from '../channel/append.sql.js';
import type { Sql } from '../database/sql.js';
import { upsertDevices } from '../device/device.sql.js';
import { insertAccessTokens, insertRefreshTokens } from '../token/session.sql.js';
import { upsertUsers } from '../user/user.sql.js';
import type { SignIn } from './sign-in.js';

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
const arrays = COLUMNS.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ');
const HISTORY = `$${COLUMNS.length + 1}`;
const PATIENCE = `$${COLUMNS.length + 2}`;

/**
 * Everything that sign-ins write, in one statement and so in one transaction: all of it is stored, or nothing. It spans
 * rooms: each room offers the SQL for its own tables (`*.sql.ts`), and this file puts it together.
 * A sign-in on a device is announced on the user's channel (contract §7).
 *
 * All users are locked first, then all devices, then all counters, and tokens come last, each in the order of their keys: so
 * does whoever removes a user (users.service.ts) or ends sessions of several (sign-out.service.ts), and so nobody waits in a
 * circle. PostgreSQL says in no order in which the members of a `WITH` are done that do not name each other.
 */
const RECORD = {
  name: 'sign-in',
  text: `
    WITH signing_in AS (
      SELECT s.* FROM unnest(${arrays}) AS s (${names}),
        set_config('lock_timeout', coalesce(${PATIENCE}, current_setting('lock_timeout')), true)
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
    SELECT user_id AS "userId", id, event_offset, data, sent_at FROM channel_event`,
};

/** The event that announces a sign-in on a device, as it is stored; `data` is JSON. */
export interface SignedInRow {
  readonly id: string;
  readonly event_offset: string;
  readonly data: string;
  readonly sent_at: Date;
}

/**
 * Records sign-ins of different users: all of them, or none.
 *
 * @param history `Settings.channelHistory`
 * @param patience how long it waits for a lock, as PostgreSQL's `lock_timeout`; null: as long as any statement
 * @returns the events, by user; a sign-in without a device has none
 */
export async function signInTogether(
  sql: Sql,
  signIns: readonly SignIn[],
  history: number,
  patience: string | null,
): Promise<Map<string, SignedInRow>> {
  const columns = COLUMNS.map(([, , valueOf]) => signIns.map(valueOf));
  const rows = await sql.query<SignedInRow & { userId: string }>(RECORD, [...columns, history, patience]);
  return new Map(rows.map(({ userId, ...row }) => [userId, row]));
}
