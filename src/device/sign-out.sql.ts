import { withoutComments } from '../platform/database/sql.js';
import { PROGRAM_DEVICES } from '../platform/http/parameters/uuid.js';

/** Sessions that one statement ends, well within its timeout. */
export const SLICE = 1000;

// A sign-out is a transaction of these statements, over users, sessions, devices and channels
// (docs/development.md#locks).
//
// - Before: sessions may be open, and nothing is locked.
// - After: sessions of the scope are signed out, at most SLICE in a transaction, and have no personal data.
//   User and sessions are locked until the commit.
// - Concurrently: pushes and refreshes of the user do not wait; a refresh that moves an idle end waits for
//   its session. Sign-ins, other sign-outs and removals of the user wait for its lock.
//
// 1. HAS_OPEN_SESSION, without a lock: most repeated calls end here.
// 2. LOCK_USER or LOCK_SIGNED_OUT_USER, in a statement of its own: each later statement has a newer snapshot,
//    with all that was committed during the wait (13.2.1).
// 3. END_SESSION or one of END_SESSIONS, END_EXCESS, END_SESSIONS_AT_PROVIDER.
// 4. FIND_SIGNED_OUT_DEVICES, which sees what step 3 has changed: it is a later command (13.2.1).
//
// A sign-out of several users has LOCK_USERS, END_EACH_SESSION and FIND_EACH_SIGNED_OUT_DEVICE in their
// place. All others name the user, so that they run on one node. `expires_at > '-infinity'` is always true.
// With it, PostgreSQL reads the index refresh_tokens_open, of sessions that are not signed out; without it,
// PostgreSQL finds one session by its key.

/**
 * Whether a sign-out of a session or device would end one; without a lock. Parameters: user, scope, session,
 * device. Each branch is a range of an index, however many sessions the user has.
 */
export const HAS_OPEN_SESSION = {
  name: 'sign-out-has-open',
  text: `
    WITH open AS NOT MATERIALIZED (
      SELECT session_id, device_id FROM refresh_tokens
      WHERE user_id = $1 AND signed_out_at IS NULL AND expires_at > '-infinity'
    )
    SELECT CASE $2::text
      WHEN 'session' THEN EXISTS (
        SELECT FROM refresh_tokens WHERE user_id = $1 AND session_id = $3::uuid AND signed_out_at IS NULL)
      ELSE EXISTS (SELECT FROM open WHERE device_id = $4::uuid) END AS "hasOpen"`,
};

/** HAS_OPEN_SESSION for several sign-outs; each parameter is an array. */
export const HAVE_OPEN_SESSIONS = {
  name: 'sign-outs-have-open',
  text: `
    WITH open AS NOT MATERIALIZED (
      SELECT user_id, session_id, device_id FROM refresh_tokens
      WHERE signed_out_at IS NULL AND expires_at > '-infinity'
    )
    SELECT CASE n.scope
      WHEN 'session' THEN EXISTS (
        SELECT FROM refresh_tokens r
        WHERE r.user_id = n.user_id AND r.session_id = n.session_id AND r.signed_out_at IS NULL)
      ELSE EXISTS (SELECT FROM open o WHERE o.user_id = n.user_id AND o.device_id = n.device_id) END AS "hasOpen"
    FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[])
      WITH ORDINALITY AS n (user_id, scope, session_id, device_id, place)
    ORDER BY place`,
};

/**
 * Locks the user before the sessions (13.3.2). Else of two sign-outs that end the last two sessions of a
 * device, each would see the other's session alive, and neither would announce the device; and the audit
 * trail would not have the order of the commits.
 */
export const LOCK_USER = {
  name: 'sign-out-lock',
  text: `SELECT provider FROM users WHERE user_id = $1 AND removed_at IS NULL FOR NO KEY UPDATE`,
};

/** Locks users as LOCK_USER does, in one order (`SELECT`, The Locking Clause). */
export const LOCK_USERS = {
  name: 'sign-out-lock-users',
  text: `
    SELECT user_id AS "userId", provider FROM users
    WHERE user_id = ANY ($1::uuid[]) AND removed_at IS NULL ORDER BY user_id FOR NO KEY UPDATE`,
};

/**
 * Locks the user as LOCK_USER does, and stores that all sessions end: sign-ins that began before are refused.
 * Parameters: user, latest begin of a sign-in that is meant (NULL: now). A sign-in locks the same row.
 */
export const LOCK_SIGNED_OUT_USER = {
  name: 'sign-out-all-lock',
  text: `
    UPDATE users SET sessions_ended_at = greatest(sessions_ended_at, least(now(), $2::timestamptz))
    WHERE user_id = $1 AND removed_at IS NULL RETURNING provider`,
};

/**
 * Ends one session; parameters: user, session, EndCause. A sign-out expires the session (spec §2.2: a refresh
 * token "ends only by expiry") and marks it as signed out. The row stays for the session feed, with ids only.
 */
export const END_SESSION = {
  name: 'sign-out-session',
  text: `
    UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now()),
      ends_because = $3,
      id_token = NULL, address = NULL, user_agent = NULL
    WHERE user_id = $1 AND session_id = $2 AND signed_out_at IS NULL
    RETURNING session_id AS "sessionId", device_id AS "deviceId"`,
};

/**
 * Ends sessions of several users as END_SESSION does; parameters: the user and the id of each, EndCause. The
 * locks of the users decide the order, so that of the sessions does not matter.
 */
export const END_EACH_SESSION = {
  name: 'sign-out-each-session',
  text: `
    UPDATE refresh_tokens AS r SET signed_out_at = now(), expires_at = least(expires_at, now()),
      ends_because = $3,
      id_token = NULL, address = NULL, user_agent = NULL
    FROM unnest($1::uuid[], $2::uuid[]) AS n (user_id, session_id)
    WHERE r.user_id = n.user_id AND r.session_id = n.session_id AND signed_out_at IS NULL
    RETURNING r.user_id AS "userId", r.session_id AS "sessionId", device_id AS "deviceId"`,
};

/**
 * Ends a slice of sessions as END_SESSION does, device by device; parameters: user, scope, session, device,
 * EndCause.
 */
export const END_SESSIONS = {
  name: 'sign-out-sessions',
  text: withoutComments(`
    UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now()),
      ends_because = $5,
      id_token = NULL, address = NULL, user_agent = NULL
    WHERE user_id = $1 AND session_id = ANY (ARRAY(
      -- FOR UPDATE waits for a refresh that moves the idle end, and then checks the conditions again (13.2.1).
      -- The array is complete before the first update.
      SELECT session_id FROM refresh_tokens
      WHERE user_id = $1 AND signed_out_at IS NULL AND expires_at > '-infinity' AND (
        $2 = 'all'
        OR $2 = 'device' AND device_id = $4
        OR $2 = 'others' AND CASE WHEN $4::uuid IS NULL
          THEN session_id <> $3 ELSE device_id IS DISTINCT FROM $4 END)
      ORDER BY device_id, expires_at, session_id LIMIT ${SLICE} FOR UPDATE))
    RETURNING session_id AS "sessionId", device_id AS "deviceId"`),
};

/**
 * Ends the sessions of all users as END_SESSION does, and refuses sign-ins that began before, as
 * LOCK_SIGNED_OUT_USER does. For a restored backup, whose transaction locks the tables; columns of 0.1.0.
 */
export const END_EVERY_SESSION = [
  `UPDATE users SET sessions_ended_at = greatest(sessions_ended_at, now()) WHERE removed_at IS NULL`,
  `UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now()),
    ends_because = NULL, id_token = NULL, address = NULL, user_agent = NULL
  WHERE signed_out_at IS NULL`,
] as const;

/**
 * Ends a slice of the sessions beyond the limit of a user: those of the device first, then by last use.
 * Parameters: user, the session that stays, its device, the limit, EndCause, whether it is of a program:
 * sessions of programs have a limit of their own.
 */
export const END_EXCESS = {
  name: 'sign-out-excess',
  text: withoutComments(`
    UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now()),
      ends_because = $5, id_token = NULL, address = NULL, user_agent = NULL
    WHERE user_id = $1 AND session_id = ANY (ARRAY(
      SELECT session_id FROM refresh_tokens
      WHERE user_id = $1 AND session_id <> $2
        AND signed_out_at IS NULL AND expires_at > '-infinity' AND expires_at > now()
        AND (idle_ends_at IS NULL OR idle_ends_at > now())
        AND coalesce(device_id BETWEEN '${PROGRAM_DEVICES[0]}' AND '${PROGRAM_DEVICES[1]}', false) = $6
      ORDER BY coalesce(device_id = $3::uuid, false), last_used_at DESC, created_at DESC, session_id
      -- The given session counts, unless a concurrent sign-in has ended it.
      OFFSET $4::int - (
        SELECT count(*) FROM refresh_tokens WHERE user_id = $1 AND session_id = $2 AND signed_out_at IS NULL)
      LIMIT ${SLICE} FOR UPDATE))
    RETURNING session_id AS "sessionId", device_id AS "deviceId"`),
};

/**
 * Ends a slice of the sessions that a provider means (docs/provider-sign-out.md#back-channel-logout), as
 * END_SESSIONS does; parameters: user, the provider's session, its subjects (NULL: any), EndCause, the latest
 * begin (NULL: any).
 */
export const END_SESSIONS_AT_PROVIDER = {
  name: 'sign-out-at-provider',
  text: `
    UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now()),
      ends_because = $4,
      id_token = NULL, address = NULL, user_agent = NULL
    WHERE user_id = $1 AND session_id = ANY (ARRAY(
      SELECT session_id FROM refresh_tokens
      WHERE user_id = $1 AND signed_out_at IS NULL AND expires_at > '-infinity' AND (
        provider_session = $2
        OR ($3::bytea[] IS NULL OR provider_subject = ANY ($3::bytea[]))
          AND ($2::bytea IS NULL OR provider_session IS NULL))
        AND ($5::timestamptz IS NULL OR coalesce(begun_at, created_at) <= $5)
      ORDER BY device_id, expires_at, session_id LIMIT ${SLICE} FOR UPDATE))
    RETURNING session_id AS "sessionId", device_id AS "deviceId"`,
};

/**
 * Of the devices `$2` of the user `$1`, those without a live session. `IN`: a join may read all sessions for
 * each device.
 */
export const FIND_SIGNED_OUT_DEVICES = {
  name: 'sign-out-devices',
  text: withoutComments(`
    SELECT device_id, device_name, user_agent, created_at, last_seen_at FROM devices
    WHERE user_id = $1 AND device_id = ANY ($2) AND device_id NOT IN (
      SELECT device_id FROM refresh_tokens
      WHERE user_id = $1 AND device_id IS NOT NULL
        -- Of this transaction as well: a session that it has ended expires after its now().
        AND signed_out_at IS NULL AND expires_at > '-infinity' AND expires_at > now()
        AND (idle_ends_at IS NULL OR idle_ends_at > now())
      ORDER BY device_id, expires_at)
    ORDER BY device_id`),
};

/** FIND_SIGNED_OUT_DEVICES of several users. Parameters: the user and the id of each device. */
export const FIND_EACH_SIGNED_OUT_DEVICE = {
  name: 'sign-out-each-device',
  text: `
    SELECT user_id, device_id, device_name, user_agent, created_at, last_seen_at FROM devices AS d
    JOIN unnest($1::uuid[], $2::uuid[]) AS n (user_id, device_id) USING (user_id, device_id)
    WHERE NOT EXISTS (
      SELECT FROM refresh_tokens WHERE user_id = d.user_id AND device_id = d.device_id
        AND signed_out_at IS NULL AND expires_at > '-infinity' AND expires_at > now()
        AND (idle_ends_at IS NULL OR idle_ends_at > now()))
    ORDER BY user_id, device_id`,
};
