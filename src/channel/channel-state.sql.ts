import { withoutComments } from '../platform/database/sql.js';

/** A token issued so long after a change may have the former claims: it was stored before the commit. */
const COMMIT_TIME = '10 seconds';

/**
 * Reads the state of a user's channel, with the claims of the user: so a handshake needs no statement for
 * claims. Parameters: user, offset of the client, time at which its token was issued (seconds since the
 * epoch). `pg` reads `float8` as a number, unlike `bigint`.
 *
 * - Before and after: the rows are the same, and nothing is locked.
 * - Concurrently: pushes do not wait. All members are of one snapshot (13.2.1), so `last`, `stored` and
 *   `lastId` agree; an event that commits later has a greater offset, and is delivered by its notification.
 */
export const FIND_STATE = {
  name: 'channel-state',
  text: withoutComments(`
    SELECT now() AS at, coalesce(last_offset, 0)::float8 AS last,
      -- Events after the offset that are still stored.
      (SELECT count(*)::float8 FROM channel_events
        WHERE user_id = $1 AND event_offset > $2 AND expires_at > now()) AS stored,
      -- Ids of the event at the offset and of the newest one, by which a client detects another history.
      (SELECT id FROM channel_events WHERE user_id = $1 AND event_offset = $2) AS id,
      (SELECT id FROM channel_events WHERE user_id = $1 AND event_offset = last_offset) AS "lastId",
      -- Only if they have changed since the token was issued. The version is the condition of a small index.
      (SELECT coalesce(claims, '{}') FROM users WHERE user_id = $1 AND claims_version <> 0
        AND claims_changed_at > to_timestamp($3::float8) - interval '${COMMIT_TIME}') AS claims
    -- A row even without a channel.
    FROM (SELECT) AS one LEFT JOIN channels ON user_id = $1`),
};

/** FIND_STATE for several clients, in their order; each parameter is an array. */
export const FIND_STATES = {
  name: 'channel-states',
  text: `
    SELECT now() AS at, coalesce(last_offset, 0)::float8 AS last,
      (SELECT count(*)::float8 FROM channel_events e
        WHERE e.user_id = n.user_id AND event_offset > n.after AND expires_at > now()) AS stored,
      (SELECT id FROM channel_events e WHERE e.user_id = n.user_id AND event_offset = n.after) AS id,
      (SELECT id FROM channel_events e
        WHERE e.user_id = n.user_id AND event_offset = last_offset) AS "lastId",
      (SELECT coalesce(claims, '{}') FROM users u WHERE u.user_id = n.user_id AND claims_version <> 0
        AND claims_changed_at > to_timestamp(n.issued_at) - interval '${COMMIT_TIME}') AS claims
    FROM unnest($1::uuid[], $2::bigint[], $3::float8[])
      WITH ORDINALITY AS n (user_id, after, issued_at, place)
    LEFT JOIN channels c ON c.user_id = n.user_id
    ORDER BY place`,
};
