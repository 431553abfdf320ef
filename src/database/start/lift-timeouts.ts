const TIMEOUTS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'transaction_timeout', // new in PostgreSQL 17
];

/**
 * SQL that lifts every limit of time, whoever has set it: the database, the role, the address.
 *
 * @param until the end of what
 */
export function liftTimeouts(until: 'transaction' | 'session'): string {
  return `
    SELECT set_config(name, '0', ${until === 'transaction'})
    FROM unnest(ARRAY['${TIMEOUTS.join("', '")}']) AS name
    WHERE current_setting(name, true) IS NOT NULL`;
}
