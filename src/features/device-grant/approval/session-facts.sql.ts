import type { Statement } from '../../../platform/database/sql.js';

/** Raw SQL: batched on the hot path of a sign-in. $5: seconds that the facts live. */
export const KEEP_FACTS: Statement = {
  name: 'keep-session-facts',
  text: `
    INSERT INTO device_session_facts (user_id, session_id, facts, approved_by, expires_at)
    SELECT user_id, session_id, facts, approved_by, now() + make_interval(secs => $5)
    FROM unnest($1::uuid[], $2::uuid[], $3::jsonb[], $4::uuid[])
      AS one (user_id, session_id, facts, approved_by)`,
};
