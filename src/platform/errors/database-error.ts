/** SQLSTATE class: account or password refused. */
export const AUTHENTICATION = '28';
// SQLSTATE classes of the server, not of a statement: connection, account, resources, operator, system.
const SERVER_CLASSES = new Set(['08', AUTHENTICATION, '53', '57', '58']);
const READ_ONLY = '25006'; // during a failover
const SOCKET_ERRORS = /^E(CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN)$/;
const CONNECTING = new Set<unknown>(['connect', 'getaddrinfo']);
const POOL_MESSAGES = /timeout|Connection terminated|connection error|not queryable/i;

// TypeORM's, if the connection ends between two statements of a transaction.
const CONNECTION_LOST = new Set<unknown>([
  'QueryRunnerAlreadyReleasedError',
  'QueryRunnerProviderAlreadyReleasedError',
]);

/**
 * Whether the database is unavailable or overloaded, so that a later attempt may succeed. So is one that
 * refuses the account: a password is being changed then, except at the start
 * (platform/database/start/retry.ts).
 */
export function isDatabaseAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, syscall, name, message, stack, driverError } = error as Record<string, unknown>;
  if (driverError) return isDatabaseAway(driverError); // TypeORM wraps pg's error
  if (CONNECTION_LOST.has(name)) return true;
  if (CONNECTING.has(syscall)) return true; // also ENOENT (no such Unix socket), EMFILE
  if (typeof code === 'string') {
    return SERVER_CLASSES.has(code.slice(0, 2)) || code === READ_ONLY || SOCKET_ERRORS.test(code);
  }
  const fromPool = typeof stack === 'string' && /[\\/]pg(-pool)?[\\/]/.test(stack);
  return fromPool && typeof message === 'string' && POOL_MESSAGES.test(message);
}
