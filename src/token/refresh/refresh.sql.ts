import { withoutComments } from '../../platform/database/sql.js';

/**
 * Checks the session of each refresh, and stores its access token.
 *
 * - Before: the session may exist; nothing is locked. No two refreshes of the statement have one `jti`.
 * - After: a refresh of a live session with its own refresh token and key, the current claims and a new proof
 *   has its access token. The others have none, and are returned with the reason. `proof`: the proof was used
 *   before, on any instance, since the `jti` of a token is derived from it.
 * - Concurrently: nothing waits, since no existing row is locked. A session may end before the commit:
 *   its new token is rejected, since verification reads the session (introspect.sql.ts). Only an equal proof
 *   waits.
 */
export const REFRESH = {
  name: 'refresh',
  text: withoutComments(`
    -- 1. The refreshes of this statement. \`(SELECT $1)\` hides the length of the arrays: else PostgreSQL plans
    --    each batch anew (sign-in-columns.ts).
    WITH requested AS (
      SELECT * FROM unnest(
        (SELECT $1::uuid[]), $2::uuid[], $3::bytea[], $4::bytea[], $5::bigint[], $6::uuid[], $7::float8[], $8::text[]
      ) WITH ORDINALITY AS r (
        user_id, session_id, token_hash, jkt, claims_version, jti, expires_at, token, place
      )
    ),
    -- 2. Why a refresh is refused: sessions and claims are those from before this statement (7.8.4).
    checked AS (
      SELECT requested.*, session.token_hash AS session_token_hash, session.jkt AS session_jkt,
        CASE
          WHEN session.session_id IS NULL THEN 'session'
          WHEN session.token_hash <> requested.token_hash THEN 'token'
          WHEN session.jkt IS DISTINCT FROM requested.jkt THEN 'token'
          -- SESSION_IDLE_TTL was set at the last use: REFRESH_WITHIN_LIMITS decides
          WHEN session.idle_ends_at IS NOT NULL THEN 'limits'
          -- the condition of a small index: most users have no claims
          WHEN requested.claims_version <> coalesce((
            SELECT claims_version FROM users WHERE user_id = session.user_id AND claims_version <> 0
          ), 0) THEN 'claims'
        END AS refusal
      FROM requested
      LEFT JOIN refresh_tokens session ON session.user_id = requested.user_id
        AND session.session_id = requested.session_id AND session.expires_at > now()
    ),
    -- 3. The tokens of the others, unless another transaction has stored one for the proof (INSERT, ON CONFLICT):
    --    if that has not committed, this waits. In the order of the key, so that two statements with equal proofs
    --    do not deadlock: the manual does not promise the order of INSERT … SELECT … ORDER BY, so a test checks it.
    stored AS (
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      SELECT user_id, session_id, jti, to_timestamp(expires_at), token FROM checked
      WHERE refusal IS NULL
      ORDER BY user_id, jti
      ON CONFLICT DO NOTHING
      RETURNING jti
    )
    SELECT place::int, coalesce(refusal, 'proof') AS refusal,
      session_token_hash AS "tokenHash", session_jkt AS jkt
    FROM checked
    WHERE refusal IS NOT NULL OR jti NOT IN (SELECT jti FROM stored)`),
};

/**
 * Does what REFRESH does for sessions that may end before REFRESH_TOKEN_TTL
 * (docs/guides/session-length.md#how-long-a-session-lasts), and moves their idle end. Returns every refresh.
 * `idle`: the session has ended, or ends with this report of the last use; `end`: the token would outlive the
 * session.
 *
 * - Before: as for REFRESH.
 * - After: as for REFRESH; sessions with a new token have their new idle end. These sessions are locked until
 *   the commit.
 * - Concurrently: refreshes that move the idle end of one session wait for each other. A sign-out locks the
 *   sessions of a user in another order, so that a batch gives up after `lock_timeout` ($11), and is repeated
 *   one by one (LimitedRefreshStore): a deadlock takes two locked sessions.
 *
 * Locks: sessions, access tokens, each by key (docs/development.md#locks).
 */
export const REFRESH_WITHIN_LIMITS = {
  name: 'refresh-within-limits',
  text: withoutComments(`
    -- 1. The refreshes of this statement; \`(SELECT $1)\` as in REFRESH. \`set_config\` is volatile, so it is
    --    called before there is a row (36.7).
    WITH requested AS MATERIALIZED (
      SELECT r.* FROM unnest(
        (SELECT $1::uuid[]), $2::uuid[], $3::bytea[], $4::bytea[], $5::bigint[], $6::uuid[], $7::float8[], $8::text[],
        $9::float8[], $10::float8[]
      ) WITH ORDINALITY AS r (
        user_id, session_id, token_hash, jkt, claims_version, jti, expires_at, token, exp, idle_ends_at, place
      ), set_config('lock_timeout', coalesce($11, current_setting('lock_timeout')), true)
    ),
    -- 2. Why a refresh is refused: sessions and claims are those from before this statement (7.8.4).
    checked AS MATERIALIZED (
      SELECT requested.*, session.token_hash AS session_token_hash, session.jkt AS session_jkt,
        session.expires_at AS session_expires_at, session.idle_ends_at AS session_idle_ends_at,
        CASE
          WHEN session.session_id IS NULL THEN 'session'
          WHEN session.token_hash <> requested.token_hash THEN 'token'
          WHEN session.jkt IS DISTINCT FROM requested.jkt THEN 'token'
          WHEN session.idle_ends_at <= now() OR to_timestamp(requested.idle_ends_at) <= now() THEN 'idle'
          WHEN to_timestamp(requested.exp) > session.expires_at THEN 'end'
          WHEN requested.claims_version <> coalesce((
            SELECT claims_version FROM users WHERE user_id = session.user_id AND claims_version <> 0
          ), 0) THEN 'claims'
        END AS refusal
      FROM requested
      LEFT JOIN refresh_tokens session ON session.user_id = requested.user_id
        AND session.session_id = requested.session_id AND session.expires_at > now()
    ),
    -- 3. With \`idle\`, an expired token is stored for a bound session: a used proof must not end it.
    storable AS (
      SELECT * FROM checked WHERE refusal IS NULL OR refusal = 'idle' AND session_jkt IS NOT NULL
    ),
    -- 4. Lock the sessions whose idle end moves by more than 5 s. ORDER BY comes before the locks (SELECT, The
    --    Locking Clause).
    moving AS MATERIALIZED (
      SELECT session.user_id, session.session_id, checked.jti, checked.idle_ends_at
      FROM checked JOIN refresh_tokens session USING (user_id, session_id)
      WHERE refusal IS NULL AND coalesce(
        abs(extract(epoch FROM session_idle_ends_at) - checked.idle_ends_at) > 5,
        (session_idle_ends_at IS NULL) <> (checked.idle_ends_at IS NULL))
      ORDER BY session.user_id, session.session_id FOR NO KEY UPDATE OF session
    ),
    -- 5. The tokens, in the order of the key, as in REFRESH. The condition is true, and known when step 4 has
    --    locked the last session: else two statements with equal proofs could wait for each other's session and
    --    token.
    stored AS (
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      SELECT user_id, session_id, jti, to_timestamp(expires_at), token
      FROM storable WHERE (SELECT count(*) FROM moving) <= (SELECT count(*) FROM requested)
      ORDER BY user_id, jti
      ON CONFLICT DO NOTHING
      RETURNING jti
    ),
    -- 6. Move the idle ends, if step 5 returns the token: a used proof moves nothing.
    moved AS (
      UPDATE refresh_tokens AS session SET idle_ends_at = to_timestamp(moving.idle_ends_at)
      FROM moving
      WHERE session.user_id = moving.user_id AND session.session_id = moving.session_id
        AND moving.jti IN (SELECT jti FROM stored)
    )
    SELECT place::int, session_token_hash AS "tokenHash", session_jkt AS jkt,
      extract(epoch FROM session_expires_at)::float8 AS "endsAt",
      CASE
        WHEN jti IN (SELECT jti FROM storable) AND jti NOT IN (SELECT jti FROM stored) THEN 'proof'
        ELSE refusal
      END AS refusal
    FROM checked`),
};

/**
 * Does what REFRESH does, for one refresh: Citus runs it on the user's node. Without the alias it rejects
 * RETURNING.
 */
export const REFRESH_ON_CITUS = {
  name: 'refresh-on-citus',
  text: `
    INSERT INTO access_tokens AS t (user_id, session_id, jti, expires_at, token)
    SELECT user_id, session_id, $6::uuid, to_timestamp($7::float8), $8::text
    FROM refresh_tokens
    WHERE user_id = $1 AND session_id = $2 AND token_hash = $3 AND expires_at > now()
      AND (jkt IS NULL OR jkt = $4) AND idle_ends_at IS NULL
      AND coalesce((SELECT claims_version FROM users WHERE user_id = $1 AND claims_version <> 0), 0) = $5
    ON CONFLICT DO NOTHING
    RETURNING t.jti`,
};

/** Returns why REFRESH_ON_CITUS has stored nothing; no row: there is no live session. */
export const REFUSAL_ON_CITUS = {
  name: 'refresh-refusal-on-citus',
  text: `
    SELECT 1 AS place, token_hash AS "tokenHash", jkt,
      CASE
        WHEN token_hash <> $3 OR jkt IS DISTINCT FROM $4 THEN 'token'
        WHEN idle_ends_at IS NOT NULL THEN 'limits'
        WHEN $5 <> coalesce((SELECT claims_version FROM users WHERE user_id = $1 AND claims_version <> 0), 0)
          THEN 'claims'
        ELSE 'proof'
      END AS refusal
    FROM refresh_tokens
    WHERE user_id = $1 AND session_id = $2 AND expires_at > now()`,
};

// A refresh within limits on Citus: one transaction on the user's node.

/** Locks the live session: $1 user, $2 session. */
export const LOCK_SESSION = `
  SELECT token_hash AS "tokenHash", jkt, extract(epoch FROM expires_at)::float8 AS "endsAt",
    extract(epoch FROM idle_ends_at)::float8 AS "idleEndsAt", extract(epoch FROM now())::float8 AS now,
    coalesce((SELECT claims_version FROM users WHERE user_id = $1 AND claims_version <> 0), 0)::float8 AS version
  FROM refresh_tokens WHERE user_id = $1 AND session_id = $2 AND expires_at > now()
  FOR NO KEY UPDATE`;

/** Moves the idle end: $1 user, $2 session, $3 seconds since the epoch or NULL. */
export const MOVE_IDLE_END = `
  UPDATE refresh_tokens SET idle_ends_at = to_timestamp($3) WHERE user_id = $1 AND session_id = $2`;

/** Stores the access token, unless its proof was used: the parameters are its columns. */
export const STORE_TOKEN = `
  INSERT INTO access_tokens AS t (user_id, session_id, jti, expires_at, token)
  VALUES ($1, $2, $3, to_timestamp($4), $5) ON CONFLICT DO NOTHING RETURNING t.jti`;
