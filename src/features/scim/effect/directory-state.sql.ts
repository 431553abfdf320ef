/**
 * Writes states of users, each only if it is another one. Raw: `created_at` is exact, which a Date is not.
 * Parameters: the users, whether each is active, and when the directory changed each.
 */
export const WRITE_STATES = `
  INSERT INTO directory_states AS present (user_id, active, changed_at, created_at)
  SELECT user_id, state.active, state.changed_at, users.created_at
  FROM unnest($1::uuid[], $2::boolean[], $3::timestamptz[]) AS state (user_id, active, changed_at)
  JOIN users USING (user_id)
  ON CONFLICT (user_id) DO UPDATE
  SET active = EXCLUDED.active, changed_at = EXCLUDED.changed_at, created_at = EXCLUDED.created_at
  WHERE (present.active, present.changed_at, present.created_at)
    IS DISTINCT FROM (EXCLUDED.active, EXCLUDED.changed_at, EXCLUDED.created_at)`;
