/**
 * Follows a read with the result "already done". The commit that was read may not be on the standby, because its wait was
 * cancelled. This statement writes one record if commits wait for a standby; earlier commits reach the standby before it.
 */
export const CONFIRM_READ = {
  name: 'confirm-read',
  text: `
    SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
      THEN pg_logical_emit_message(true, 'latchkey', '') END`,
};
