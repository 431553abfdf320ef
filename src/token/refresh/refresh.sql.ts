import { withoutComments } from '../../platform/database/sql.js';

/**
 * Checks the session of each refresh, and stores its access token. Returns the refreshes that need more than
 * their token: those that are refused, and those of sessions that may end before REFRESH_TOKEN_TTL.
 *
 * - Before: the session may exist; nothing is locked. No two refreshes of the statement have one `jti`.
 * - After: a refresh of a live session with its own refresh token and key, the current claims and a new proof
 *   has its access token. The others have none, and are returned with the reason (RefreshRow).
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
        (SELECT $1::uuid[]), $2::uuid[], $3::bytea[], $4::bytea[], $5::bigint[], $6::uuid[], $7::float8[], $8::text[],
        $9::float8[], $10::float8[]
      ) WITH ORDINALITY AS r (
        user_id, session_id, token_hash, jkt, claims_version, jti, expires_at, token, exp, idle_ends_at, place
      )
    ),
    -- 2. Why a refresh is refused: sessions and claims are those from before this statement (7.8.4). $11: any
    --    session may end early; else one may whose provider has named an end.
    checked AS (
      SELECT requested.*, session.token_hash AS session_token_hash, session.jkt AS session_jkt,
        session.expires_at AS session_expires_at, session.idle_ends_at AS session_idle_ends_at,
        $11 OR session.ends_because IS NOT NULL AS may_end_early,
        CASE
          WHEN session.session_id IS NULL THEN 'session'
          WHEN session.token_hash <> requested.token_hash THEN 'token'
          WHEN session.jkt IS DISTINCT FROM requested.jkt THEN 'token'
          WHEN session.idle_ends_at <= now() OR to_timestamp(requested.idle_ends_at) <= now() THEN 'idle'
          WHEN to_timestamp(requested.exp) > session.expires_at AND ($11 OR session.ends_because IS NOT NULL)
            THEN 'end'
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
    --    With \`idle\`, the expired token is stored for a bound session: a used proof must not end it.
    stored AS (
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      SELECT user_id, session_id, jti, to_timestamp(expires_at), token FROM checked
      WHERE refusal IS NULL OR refusal = 'idle' AND session_jkt IS NOT NULL
      ORDER BY user_id, jti
      ON CONFLICT DO NOTHING
      RETURNING jti
    )
    SELECT place::int, session_token_hash AS "tokenHash", session_jkt AS jkt,
      CASE WHEN may_end_early THEN extract(epoch FROM session_expires_at)::float8 END AS "endsAt",
      extract(epoch FROM session_idle_ends_at)::float8 AS "idleEndsAt",
      -- A used proof is reported before the idle end, which it must not cause.
      CASE
        WHEN stored.jti IS NULL AND (refusal IS NULL OR refusal = 'idle' AND session_jkt IS NOT NULL) THEN 'proof'
        ELSE refusal
      END AS refusal
    FROM checked LEFT JOIN stored USING (jti)
    WHERE refusal IS NOT NULL OR stored.jti IS NULL OR may_end_early OR session_idle_ends_at IS NOT NULL`),
};

/**
 * Moves the idle ends of sessions with a new token. Returns the sessions of which this is done.
 *
 * - Before: REFRESH has stored the tokens, and committed.
 * - After: the returned sessions have their new idle end; the others were locked, or are gone.
 * - Concurrently: nothing waits, since locked sessions are left out. MOVE_IDLE_END waits for one of them.
 */
export const MOVE_IDLE_ENDS = {
  name: 'move-idle-ends',
  text: `
    WITH free AS MATERIALIZED (
      SELECT session.user_id, session.session_id, requested.idle_ends_at
      FROM unnest((SELECT $1::uuid[]), $2::uuid[], $3::float8[]) AS requested (user_id, session_id, idle_ends_at)
      JOIN refresh_tokens AS session USING (user_id, session_id)
      FOR NO KEY UPDATE OF session SKIP LOCKED
    )
    UPDATE refresh_tokens AS session SET idle_ends_at = to_timestamp(free.idle_ends_at)
    FROM free WHERE session.user_id = free.user_id AND session.session_id = free.session_id
    RETURNING session.session_id AS "sessionId"`,
};

/** Moves the idle end of one session: $1 user, $2 session, $3 seconds since the epoch or NULL. */
export const MOVE_IDLE_END = {
  name: 'move-idle-end',
  text: `UPDATE refresh_tokens SET idle_ends_at = to_timestamp($3) WHERE user_id = $1 AND session_id = $2`,
};
