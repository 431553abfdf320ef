import { LARGEST_TRIM, OWN_EVENTS_TTL, TRIM_EVERY } from '../../channel/channel.history.js';
import { withoutComments, type Statement } from '../../platform/database/sql.js';
import { REMEMBERED_S } from '../../token/sessions/recent-ends.js';
import { MOST_SESSIONS } from '../../token/sessions/session.store.js';
import { APPROVED, ARRAYS, FIRST_SIGN_IN, NAMES } from './sign-in-columns.js';

/** Network of an address (docs/audit.md#new-devices-and-networks), as in the index audit_events_networks. */
const networkOf = (address: string): string =>
  `network(set_masklen(${address}::inet, CASE family(${address}::inet) WHEN 4 THEN 24 ELSE 48 END))`;

/** Condition on an event `e`: a sign-in from the network of an address. */
export const isFromNetworkOf = (address: string): string =>
  `e.event = 'sign_in' AND e.address IS NOT NULL AND ${networkOf('e.address')} = ${networkOf(address)}`;

/** Devices that a user may have (docs/security.md#database). */
export const MOST_DEVICES = 2000;

/**
 * Condition on a sign-in of a user without a row: it began before all sessions of the user ended. An end
 * since the begin of the statement is found after the commit (RecentEnds).
 */
const HAS_ENDED_WITHOUT_ROW = `EXISTS (
        SELECT FROM logout_tokens WHERE token_hash = sha256(convert_to(requested.user_id::text, 'UTF8'))
          AND expires_at >= to_timestamp(requested_at + ${REMEMBERED_S}))`;

/**
 * Writes sign-ins of different users. Parameters: `lock_timeout` or NULL, `Settings.channelHistory`,
 * `Settings.auditRetentionDays`, and the sign-ins (toArrays).
 *
 * - Before: the user, the device and the channel may exist; nothing is locked.
 * - After: an admitted sign-in has all its rows, a refused one has none. User, device and channel are locked
 *   until the commit.
 * - Concurrently: pushes and refreshes of the user do not wait. Sign-ins, sign-outs and removals of the user
 *   wait for its lock.
 *
 * Locks: users, devices, channels, access tokens, each by key (docs/development.md#locks). Each step takes
 * from an earlier one what that returns (docs/development.md#order-in-a-statement).
 */
export const SIGN_IN: Statement = {
  name: 'sign-in',
  text: withoutComments(`
    -- 1. The sign-ins of this statement. One locked user must not delay the others for long: \`set_config\` is
    --    volatile, so it is called before there is a row (36.7).
    WITH requested AS MATERIALIZED (
      SELECT s.* FROM unnest(${ARRAYS}) AS s (${NAMES}),
        set_config('lock_timeout', coalesce($1, current_setting('lock_timeout')), true)
    ),

    -- 2. Lock the users who exist. ORDER BY comes before the locks (SELECT, The Locking Clause), and the rows
    --    are as they are after the wait for the lock (13.2.1), so with the end of all sessions that it waited
    --    for (docs/development.md#ends-of-sessions).
    locked_user AS MATERIALIZED (
      SELECT user_id, claims_version, application_claims IS NOT NULL AS has_application_claims, suspended_at,
        merged_into, sessions_ended_at, last_seen_at IS NULL AS is_new
      FROM users WHERE user_id IN (SELECT user_id FROM requested)
      ORDER BY user_id FOR NO KEY UPDATE
    ),

    -- 3. Create the others, once all locks of step 2 are taken: NOT IN needs all of its rows. (Claims of the
    --    application belonged to a user who has been removed since.)
    created_user AS (
      INSERT INTO users (user_id, provider, provider_user_id, username, email, avatar_url, email_key,
        identity, provider_claims, claims, claims_version)
      SELECT user_id, provider, provider_user_id, username, email, avatar_url, email_key, identity,
        provider_claims, claims, claims_version
      FROM requested
      WHERE user_id NOT IN (SELECT user_id FROM locked_user) AND NOT has_application_claims
        AND NOT ${HAS_ENDED_WITHOUT_ROW}
      ORDER BY user_id
      ON CONFLICT DO NOTHING -- created by another instance since step 2, perhaps with other claims
      RETURNING user_id
    ),

    -- 4. Why a sign-in is refused: the identity is another user's, the user is suspended, or signed out since,
    --    the user's claims are not the token's, or a bound is reached. Not a bound of a user from step 3: this
    --    statement sees the sessions and devices from before its begin (7.8.4), of a user who has been removed
    --    since. The conditions on sessions are those of the index refresh_tokens_open.
    checked AS MATERIALIZED (
      SELECT requested.user_id, l.merged_into, coalesce(l.is_new, true) AS is_new, CASE
          WHEN requested.user_id IN (SELECT user_id FROM created_user) THEN NULL
          WHEN l.merged_into IS NOT NULL THEN 'merged'
          WHEN l.suspended_at IS NOT NULL THEN 'suspended'
          WHEN l.sessions_ended_at >= to_timestamp(requested_at) THEN 'signed_out'
          WHEN l.user_id IS NULL AND ${HAS_ENDED_WITHOUT_ROW} THEN 'signed_out'
          -- The version alone may be equal by chance, if POST /users has created the user just now.
          WHEN (l.claims_version, l.has_application_claims)
            IS DISTINCT FROM (requested.claims_version, requested.has_application_claims) THEN 'claims'
          WHEN EXISTS (
            SELECT FROM refresh_tokens AS t
            WHERE t.user_id = requested.user_id AND signed_out_at IS NULL
              AND expires_at > '-infinity' AND expires_at > now()
            ORDER BY t.device_id, expires_at OFFSET ${MOST_SESSIONS - 1} LIMIT 1)
            -- Only then without those past their idle end, which the index does not know.
            AND EXISTS (
              SELECT FROM refresh_tokens AS t
              WHERE t.user_id = requested.user_id AND signed_out_at IS NULL
                AND expires_at > '-infinity' AND expires_at > now()
                AND (idle_ends_at IS NULL OR idle_ends_at > now())
              ORDER BY t.device_id, expires_at OFFSET ${MOST_SESSIONS - 1} LIMIT 1) THEN 'session'
          WHEN device_id IS NOT NULL
            AND EXISTS (
              SELECT FROM devices AS d WHERE d.user_id = requested.user_id OFFSET ${MOST_DEVICES - 1} LIMIT 1)
            AND NOT EXISTS (
              SELECT FROM devices AS d WHERE d.user_id = requested.user_id AND d.device_id = requested.device_id)
            THEN 'device'
        END AS refused
      FROM requested LEFT JOIN locked_user AS l USING (user_id)
    ),

    -- 5. The others: NOT IN needs all rows of step 4, and so the locks of step 2. (With \`refused IS NULL\`, the
    --    planner would expect a single row, and join by loops.)
    admitted AS MATERIALIZED (
      SELECT * FROM requested WHERE user_id NOT IN (SELECT user_id FROM checked WHERE refused IS NOT NULL)
    ),

    -- 6. The profile and the identity as the provider reports them now; the first sign-in of a user whom
    --    POST /users has made.
    updated_user AS (
      UPDATE users SET username = a.username, email = a.email, avatar_url = a.avatar_url,
        email_key = a.email_key, identity = a.identity, last_seen_at = coalesce(users.last_seen_at, now())
      FROM admitted AS a
      WHERE users.user_id = a.user_id
        AND ((users.username, users.email, users.avatar_url, users.identity)
          IS DISTINCT FROM (a.username, a.email, a.avatar_url, a.identity) OR users.last_seen_at IS NULL)
      RETURNING users.user_id
    ),

    -- 7. The words by which the search finds users with another profile. The lock of step 2 guards them.
    word AS (
      SELECT user_id, word FROM admitted, unnest(string_to_array(word_keys, E'\\n')) AS word
      WHERE user_id IN (SELECT user_id FROM created_user UNION ALL SELECT user_id FROM updated_user)
    ),
    former_word AS (
      DELETE FROM user_words AS w
      WHERE w.user_id = ANY (ARRAY(SELECT user_id FROM updated_user)) -- by index, however few rows there were
        AND (w.user_id, w.word) NOT IN (SELECT user_id, word FROM word)
    ),
    new_word AS (
      INSERT INTO user_words (user_id, word) SELECT user_id, word FROM word ON CONFLICT DO NOTHING
    ),

    -- 8. The device, if one is named; what the client leaves out stays. Locked in the order of the keys: the
    --    manual does not promise the order of INSERT … SELECT … ORDER BY, so a test checks it.
    --    \`facts\`: docs/realtime.md#what-the-service-sends
    device AS (
      INSERT INTO devices (user_id, device_id, device_name, user_agent, address, last_seen_at)
      SELECT user_id, device_id, device_name, user_agent, address, now()
      FROM admitted WHERE device_id IS NOT NULL ORDER BY user_id, device_id
      ON CONFLICT (user_id, device_id) DO UPDATE SET
        device_name = coalesce(excluded.device_name, devices.device_name),
        user_agent = coalesce(excluded.user_agent, devices.user_agent),
        address = excluded.address,
        last_seen_at = excluded.last_seen_at
      RETURNING user_id, json_build_object(
        'device_id', device_id, 'device_name', device_name, 'user_agent', user_agent,
        'created_at', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'last_seen_at', to_char(last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      )::text AS facts
    ),

    -- 9. The next offset of the user's channel. The row is locked until the commit (13.3.2), so offsets become
    --     visible in order. ORDER BY needs all devices, so no channel is locked before the last device.
    counter AS (
      INSERT INTO channels (user_id, last_offset) SELECT user_id, 1 FROM device ORDER BY user_id
      ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1
      RETURNING user_id, last_offset
    ),

    -- 10. The event for the user's other devices, at the offset that step 9 returns.
    device_event AS (
      INSERT INTO channel_events (user_id, event_offset, id, event, data, device_id, sent_at, expires_at)
      SELECT user_id, last_offset, gen_random_uuid(), 'device.signed_in', facts, NULL, now(),
        now() + make_interval(secs => ${OWN_EVENTS_TTL})
      FROM counter JOIN device USING (user_id)
      RETURNING user_id, id, event_offset, data, sent_at
    ),

    -- 11. Trim the history now and then: with more users at once, fewer events of each. It does not see the
    --     event of step 10 (7.8.4).
    trimmed AS (
      DELETE FROM channel_events AS e
      USING (
        SELECT user_id, last_offset, greatest(${2 * TRIM_EVERY}, ${LARGEST_TRIM} / count(*) OVER ()) AS most
        FROM counter WHERE last_offset % ${TRIM_EVERY} = 0
      ) AS c
      WHERE e.user_id = c.user_id AND e.event_offset < least(
        c.last_offset - $2,
        (SELECT min(event_offset) + c.most FROM channel_events AS oldest WHERE oldest.user_id = c.user_id))
    ),

    -- 12. The session: a new row, for which nothing waits.
    session AS (
      INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at, jkt,
        provider_subject, provider_session, joined_identity_id, id_token, auth_time, address, user_agent,
        idle_ends_at, ends_because, begun_at)
      SELECT user_id, session_id, device_id, token_hash,
        least(now() + make_interval(secs => ttl), to_timestamp(session_expiry)), jkt,
        provider_subject, provider_session, joined_identity_id, id_token, to_timestamp(auth_time), address,
        user_agent,
        now() + make_interval(secs => idle_ttl),
        CASE WHEN session_expiry IS NOT NULL THEN 'session_expiry' END, to_timestamp(begun_at)
      FROM admitted
    ),

    -- 13. Its access token; the key is that of the DPoP proof, if there is one. The count is known when
    --     step 9 has locked the last channel: else two statements with equal proofs could wait for each other's
    --     channel and token.
    access_token AS (
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      SELECT user_id, session_id, jti, to_timestamp(token_expires_at), token
      FROM admitted WHERE (SELECT count(*) FROM counter) >= 0
      ORDER BY user_id, jti
    ),

    -- 14. What is new about the sign-in, by the rows from before this statement (7.8.4): of concurrent sign-ins
    --     from one new network, each says so. \`OFFSET 0\`: by an index, even if the table was empty at planning.
    news AS MATERIALIZED (
      SELECT user_id, session_id, device_id, provider, provider_user_id, address, user_agent, request_id,
        CASE WHEN user_id IN (SELECT user_id FROM checked WHERE is_new) THEN '${FIRST_SIGN_IN}'
          WHEN begun_at < requested_at THEN '${APPROVED}' END AS reason,
        CASE WHEN $3 > 0 AND device_id IS NOT NULL THEN NOT EXISTS (
          SELECT FROM devices AS d WHERE d.user_id = a.user_id AND d.device_id = a.device_id
            AND d.last_seen_at > now() - make_interval(days => $3) OFFSET 0) END AS new_device,
        CASE WHEN $3 > 0 AND address IS NOT NULL THEN NOT EXISTS (
          SELECT FROM audit_events AS e WHERE e.user_id = a.user_id AND ${isFromNetworkOf('a.address')}
          OFFSET 0) END AS new_network
      FROM admitted AS a
    ),

    -- 15. The event of the audit trail, with the id of the session.
    audit_event AS (
      INSERT INTO audit_events (user_id, id, event, result, reason, session_id, device_id, provider,
        provider_user_id, address, user_agent, actor_type, request_id, new_device, new_network)
      SELECT user_id, session_id, 'sign_in', 'ok', reason, session_id, device_id, provider,
        provider_user_id, address, user_agent, 'user', request_id, new_device, new_network
      FROM news WHERE $3 > 0
    )

    SELECT user_id AS "userId", NULL AS refused, reason, new_device AS "newDevice",
      new_network AS "newNetwork", id, event_offset, data, sent_at, NULL AS "mergedInto"
    FROM news LEFT JOIN device_event USING (user_id)
    UNION ALL
    SELECT user_id, refused, NULL, NULL, NULL, NULL, NULL, NULL, NULL, merged_into FROM checked WHERE refused IS NOT NULL`),
};
