import { isFromNetworkOf, MOST_DEVICES } from '../auth/sign-in/sign-in.sql.js';
import { REMEMBERED_S } from '../token/sessions/recent-ends.js';
import { MOST_SESSIONS } from '../token/sessions/session.sql.js';

// On Citus, a sign-in is a transaction of these statements: each is one task on the user's node.

/** Locks a user: $1 user, $2 begin of the sign-in. */
export const LOCK_USER = `
  SELECT claims_version::float8 AS version, application_claims IS NOT NULL AS has_application_claims,
    suspended_at IS NOT NULL AS suspended, merged_into AS "mergedInto", last_seen_at IS NULL AS is_new,
    sessions_ended_at >= to_timestamp($2) AS ended
  FROM users WHERE user_id = $1 FOR NO KEY UPDATE`;

/** Finds an end of a user without a row since the begin of a sign-in: $1 user, $2 begin. */
export const FIND_END = `
  SELECT FROM logout_tokens WHERE token_hash = sha256(convert_to($1, 'UTF8'))
    AND expires_at >= to_timestamp($2::float8 + ${REMEMBERED_S})`;

/** Creates a user unless another instance has: $1 to $8 profile, $9 to $11 claims. */
export const CREATE_USER = `
  INSERT INTO users (user_id, provider, provider_user_id, username, email, avatar_url, email_key, identity,
    provider_claims, claims, claims_version)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
  ON CONFLICT DO NOTHING RETURNING user_id`;

/** Updates the profile of a user: $1 user, $2 to $6 profile. */
export const UPDATE_PROFILE = `
  UPDATE users SET username = $2, email = $3, avatar_url = $4, email_key = $5, identity = $6
  WHERE user_id = $1 AND (username, email, avatar_url, identity) IS DISTINCT FROM ($2, $3, $4, $6::jsonb)
  RETURNING user_id`;

/** Replace the words of a user: $1 user, $2 words, an array. */
export const DELETE_WORDS = 'DELETE FROM user_words WHERE user_id = $1 AND word <> ALL ($2::text[])';
export const INSERT_WORDS = `
  INSERT INTO user_words (user_id, word) SELECT $1::uuid, unnest($2::text[]) ON CONFLICT DO NOTHING`;

/**
 * Writes the first sign-in of a user whom POST /users has made: $1 user. Citus has no coalesce with now().
 */
export const MARK_SEEN = 'UPDATE users SET last_seen_at = now() WHERE user_id = $1 AND last_seen_at IS NULL';

/**
 * Selects why a sign-in is refused: the bound of the user that is reached. $1 user, $2 device. After the
 * lock, so that concurrent sign-ins cannot exceed a bound.
 */
export const FIND_REACHED_BOUND = `
  SELECT CASE
      WHEN EXISTS (
        SELECT FROM refresh_tokens
        WHERE user_id = $1 AND signed_out_at IS NULL AND expires_at > '-infinity' AND expires_at > now()
          AND (idle_ends_at IS NULL OR idle_ends_at > now())
        ORDER BY device_id, expires_at OFFSET ${MOST_SESSIONS - 1} LIMIT 1) THEN 'session'
      WHEN $2::uuid IS NOT NULL
        AND EXISTS (SELECT FROM devices WHERE user_id = $1 OFFSET ${MOST_DEVICES - 1} LIMIT 1)
        AND NOT EXISTS (SELECT FROM devices WHERE user_id = $1 AND device_id = $2) THEN 'device'
    END AS refused
  FROM users WHERE user_id = $1`;

/**
 * Selects what is new about a sign-in: $1 user, $2 device, $3 address, $4 days of the retention. After the
 * lock, so of concurrent sign-ins from one new network, only the first says so.
 */
export const FIND_NEWS = `
  SELECT
    CASE WHEN $2::uuid IS NOT NULL THEN NOT EXISTS (
      SELECT FROM devices WHERE user_id = $1 AND device_id = $2
        AND last_seen_at > now() - make_interval(days => $4)) END AS "newDevice",
    CASE WHEN $3::text IS NOT NULL THEN NOT EXISTS (
      SELECT FROM audit_events AS e WHERE e.user_id = $1 AND ${isFromNetworkOf('$3::text')}) END AS "newNetwork"
  FROM users WHERE user_id = $1`;

/** Writes the device: $1 user, $2 device, $3 name, $4 user agent, $5 address. */
export const UPSERT_DEVICE = `
  INSERT INTO devices (user_id, device_id, device_name, user_agent, address, last_seen_at)
  VALUES ($1, $2, $3, $4, $5, now())
  ON CONFLICT (user_id, device_id) DO UPDATE SET
    device_name = coalesce(excluded.device_name, devices.device_name),
    user_agent = coalesce(excluded.user_agent, devices.user_agent),
    address = excluded.address,
    last_seen_at = excluded.last_seen_at`;

/** Selects the event of the device: $1 user, $2 device. Citus rejects such functions in RETURNING. */
export const SELECT_DEVICE_FACTS = `
  SELECT json_build_object(
    'device_id', device_id, 'device_name', device_name, 'user_agent', user_agent,
    'created_at', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'last_seen_at', to_char(last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text AS data
  FROM devices WHERE user_id = $1 AND device_id = $2`;

/** Writes the session: the parameters are its columns. */
export const INSERT_SESSION = `
  INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, jkt, provider_subject,
    provider_session, id_token, auth_time, address, user_agent, idle_ends_at, ends_because, begun_at,
    joined_identity_id)
  VALUES ($1, $2, $3, $4, least(now() + make_interval(secs => $5), to_timestamp($14)), $6, $7, $8, $9,
    to_timestamp($10), $11, $12, now() + make_interval(secs => $13),
    CASE WHEN $14::float8 IS NOT NULL THEN 'session_expiry' END, to_timestamp($15), $16)`;

/** Writes the access token: the parameters are its columns. */
export const INSERT_ACCESS_TOKEN = `
  INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
  VALUES ($1, $2, $3, to_timestamp($4), $5)`;
