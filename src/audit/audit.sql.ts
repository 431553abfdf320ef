/**
 * Inserts a `sign_in` for each of several sign-ins, with the id of its session as id.
 * @param from member of the same `WITH` with the columns of the table, whose users are locked
 */
export function insertSignInEvents(from: string): string {
  return `
      INSERT INTO audit_events (user_id, id, event, result, session_id, device_id, provider, provider_user_id, address,
        user_agent, actor_type, request_id)
      SELECT user_id, session_id, 'sign_in', 'ok', session_id, device_id, provider, provider_user_id, address, user_agent,
        'user', request_id
      FROM ${from}`;
}
