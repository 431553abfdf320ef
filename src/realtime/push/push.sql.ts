import { appending } from '../../channel/channel.history.js';
import { ONLINE_PRESENCE } from '../../channel/presence.store.js';
import { withoutComments } from '../../platform/database/sql.js';

/** Whether a target is online on some instance; those known to be on this one are not looked up. */
const online = (userId: string): string => `
  n.online OR EXISTS (
    SELECT FROM ${ONLINE_PRESENCE}
    WHERE p.user_id = ${userId} AND (n.device_id IS NULL OR p.device_id = n.device_id)) AS online`;

/**
 * Finds the targets of events, and appends the events. Parameters: for each target user, id, number of its
 * event from 1, whether it is online on this instance; for each event name, data as JSON, device (null: all),
 * ttl; `Settings.channelHistory`.
 *
 * - Before: the users may exist, and have channels; nothing is locked.
 * - After: the events of a user have the next offsets, in the order of the batch; those with a `ttl` of 0
 *   have none, and are not stored. A target that does not exist has no row. The channels are locked until the
 *   commit.
 * - Concurrently: other pushes to the users, and sign-ins on a device, wait for the channels; a removal of a
 *   user waits for the push. Two batches wait for each other's users in one order, without a deadlock.
 *
 * Locks: users, channels, each by key (docs/development.md#locks). Each step takes from an earlier one what
 * that returns (docs/development.md#order-in-a-statement).
 */
export const PUSH = {
  name: 'push',
  text: withoutComments(`
    -- 1. The events for each user. \`(SELECT $1)\` hides the length of the arrays: else PostgreSQL plans each
    --    push anew (sign-in-columns.ts).
    WITH requested AS MATERIALIZED (
      SELECT n.*, e.event, e.data, e.device_id, e.ttl
      FROM unnest((SELECT $1::uuid[]), $2::uuid[], $3::int[], $4::boolean[])
        WITH ORDINALITY AS n (user_id, id, number_of_event, online, place)
      JOIN unnest((SELECT $5::text[]), $6::text[], $7::uuid[], $8::int[])
        WITH ORDINALITY AS e (event, data, device_id, ttl, number_of_event) USING (number_of_event)
    ),
    -- 2. FOR KEY SHARE waits for a removal of the user, and blocks it; neither pushes nor sign-ins (13.3.2).
    --    After a wait the condition is checked again: a removed user is no target (13.2.1). ORDER BY comes
    --    before the locks (SELECT, The Locking Clause).
    target AS MATERIALIZED (
      SELECT user_id FROM users
      WHERE user_id = ANY (ARRAY(SELECT user_id FROM requested)) AND removed_at IS NULL
      ORDER BY user_id FOR KEY SHARE
    ),
    -- 3. The events for users who exist, and for devices that are theirs.
    found AS MATERIALIZED (
      SELECT * FROM requested AS n
      WHERE user_id IN (SELECT user_id FROM target) AND (device_id IS NULL
        OR EXISTS (SELECT FROM devices d WHERE d.user_id = n.user_id AND d.device_id = n.device_id))
    ),
    -- 4. Append those with a ttl (append.sql.ts). \`counter\` sorts its users, so it needs all locks of step 2.
    ${appending('SELECT user_id, id, event, data, device_id, ttl, place FROM found WHERE ttl > 0', '$9')}
    SELECT n.place::int, before + nth AS event_offset, now() AS sent_at, ${online('n.user_id')}
    FROM found AS n LEFT JOIN numbered USING (place)`),
};

/**
 * Finds the targets of events with a `ttl` of 0, which write nothing, without locks. Parameters: for each
 * target user, device (null: all), whether it is online on this instance.
 */
export const FIND_TARGETS = {
  name: 'push-targets',
  text: `
    SELECT n.place::int, NULL AS event_offset, now() AS sent_at, ${online('n.user_id')}
    FROM unnest((SELECT $1::uuid[]), $2::uuid[], $3::boolean[])
      WITH ORDINALITY AS n (user_id, device_id, online, place)
    JOIN users u ON u.user_id = n.user_id
    WHERE removed_at IS NULL AND (n.device_id IS NULL
      OR EXISTS (SELECT FROM devices d WHERE d.user_id = n.user_id AND d.device_id = n.device_id))`,
};
