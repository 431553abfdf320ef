/**
 * For an answer that says "that is done already" and so writes nothing: what was read may be a commit whose wait for the
 * standby was cancelled, which is lost if the standby takes over now. This statement, after the reading, writes one record where
 * commits wait for a standby, and nothing elsewhere; when its own commit is on the standby, all that came before it is too.
 */
export const CONFIRM_READ = {
  name: 'confirm-read',
  text: `
    SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
      THEN pg_logical_emit_message(true, 'latchkey', '') END`,
};
