/**
 * Checks the session of each refresh, and stores its access token; returns the refused ones with the reason.
 * `proof`: the proof was used before, on any instance, since the `jti` of a token is derived from it.
 */
export const REFRESH = {
  name: 'refresh',
  text: `
    WITH requested AS (
      SELECT * FROM unnest(
        $1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::bigint[], $6::uuid[], $7::float8[], $8::text[]
      ) WITH ORDINALITY AS r (
        user_id, session_id, token_hash, jkt, claims_version, jti, expires_at, token, place
      )
    ),
    checked AS (
      SELECT requested.*, session.token_hash AS session_token_hash, session.jkt AS session_jkt,
        CASE
          WHEN session.session_id IS NULL THEN 'session'
          WHEN session.token_hash <> requested.token_hash THEN 'token'
          WHEN session.jkt IS DISTINCT FROM requested.jkt THEN 'token'
          -- the condition of a small index: most users have no claims
          WHEN requested.claims_version <> coalesce((
            SELECT claims_version FROM users WHERE user_id = session.user_id AND claims_version <> 0
          ), 0) THEN 'claims'
        END AS refusal
      FROM requested
      LEFT JOIN refresh_tokens session ON session.user_id = requested.user_id
        AND session.session_id = requested.session_id AND session.expires_at > now()
    ),
    -- in the order of the key, so that two statements with equal proofs do not deadlock
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
    WHERE refusal IS NOT NULL OR jti NOT IN (SELECT jti FROM stored)`,
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
      AND (jkt IS NULL OR jkt = $4)
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
        WHEN $5 <> coalesce((SELECT claims_version FROM users WHERE user_id = $1 AND claims_version <> 0), 0)
          THEN 'claims'
        ELSE 'proof'
      END AS refusal
    FROM refresh_tokens
    WHERE user_id = $1 AND session_id = $2 AND expires_at > now()`,
};
