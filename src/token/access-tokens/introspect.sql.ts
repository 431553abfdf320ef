// Before and after each of these statements the rows are the same: they read committed rows of one snapshot
// (13.2.1), lock nothing, and wait for nobody. So a token is accepted or rejected as its session was when the
// statement began; a sign-out that has committed before is seen.

/**
 * Finds a stored access token whose session is not signed out; both rows by their whole keys.
 * 1. `stored`: the row of the token. Its text is compared, too: an ES256 signature has a second form that
 *    verifies and was never issued.
 * 2. `session`: it must not be signed out. Its expiry is not checked, since the token has its own.
 * 3. `claimsVersion` shows whether the claims that an instance has in memory are current. `<> 0` is the
 *    condition of a small index: most users have no claims.
 */
export const ACCESS_TOKEN = {
  name: 'access-token',
  text: `
    SELECT 1 AS place, coalesce((
      SELECT claims_version FROM users WHERE user_id = $1 AND claims_version <> 0
    ), 0)::float8 AS "claimsVersion"
    FROM access_tokens stored
    JOIN refresh_tokens session ON session.user_id = stored.user_id AND session.session_id = stored.session_id
    WHERE stored.user_id = $1 AND stored.session_id = $2 AND stored.jti = $3 AND stored.token = $4
      AND session.signed_out_at IS NULL`,
};

const FROM_PRESENTED = `FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[])
      WITH ORDINALITY AS presented (user_id, session_id, jti, token, place)
    JOIN access_tokens stored ON stored.user_id = presented.user_id
      AND stored.session_id = presented.session_id AND stored.jti = presented.jti
      AND stored.token = presented.token
    JOIN refresh_tokens session ON session.user_id = presented.user_id
      AND session.session_id = presented.session_id`;

/** Does what ACCESS_TOKEN does, for several tokens; `place` counts from 1. */
export const ACCESS_TOKENS = {
  name: 'access-tokens',
  text: `
    SELECT presented.place::int, coalesce((
      SELECT claims_version FROM users WHERE user_id = presented.user_id AND claims_version <> 0
    ), 0)::float8 AS "claimsVersion"
    ${FROM_PRESENTED}
    WHERE session.signed_out_at IS NULL`,
};

/** Does what ACCESS_TOKENS does, and reads the profile of the user, for an API behind a proxy. */
export const FORWARDED_TOKENS = {
  name: 'forwarded-tokens',
  text: `
    SELECT presented.place::int, coalesce(users.claims_version, 0)::float8 AS "claimsVersion",
      users.username, users.email
    ${FROM_PRESENTED}
    LEFT JOIN users ON users.user_id = presented.user_id
    WHERE session.signed_out_at IS NULL`,
};

/**
 * Finds the session that a refresh token names, if it is not signed out and has not expired.
 * 1. `isIdle`: past its idle end it is found, so that a client may revoke it, which ends its access tokens.
 * 2. `expiresAt`: of its two ends, the one that comes first.
 */
export const REFRESH_TOKEN = {
  name: 'refresh-token',
  text: `
    SELECT 1 AS place, token_hash AS "tokenHash", jkt, created_at AS "createdAt",
      least(expires_at, idle_ends_at) AS "expiresAt", coalesce(idle_ends_at <= now(), false) AS "isIdle"
    FROM refresh_tokens
    WHERE user_id = $1 AND session_id = $2 AND signed_out_at IS NULL AND expires_at > now()`,
};

/** Does what REFRESH_TOKEN does, for several tokens. */
export const REFRESH_TOKENS = {
  name: 'refresh-tokens',
  text: `
    SELECT presented.place::int, token_hash AS "tokenHash", jkt, created_at AS "createdAt",
      least(expires_at, idle_ends_at) AS "expiresAt", coalesce(idle_ends_at <= now(), false) AS "isIdle"
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS presented (user_id, session_id, place)
    JOIN refresh_tokens USING (user_id, session_id)
    WHERE signed_out_at IS NULL AND expires_at > now()`,
};
