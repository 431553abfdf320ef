const REFUSED = '28'; // SQLSTATE class: an account or a password that the server does not take
// Classes about the server, not about the statement: connection, account, resources, operator, system.
const SERVER_CLASSES = new Set(['08', REFUSED, '53', '57', '58']);
const READ_ONLY = '25006'; // a server that is failing over
const SOCKET_ERRORS = /^E(CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN)$/;
const CONNECTING = new Set<unknown>(['connect', 'getaddrinfo']);
const POOL_MESSAGES = /timeout|Connection terminated|connection error|not queryable/i;

// TypeORM's, once the connection has ended between two statements of a transaction.
const CONNECTION_LOST = new Set<unknown>([
  'QueryRunnerAlreadyReleasedError',
  'QueryRunnerProviderAlreadyReleasedError',
]);

/**
 * Whether an error says that the database is away or overloaded, so that trying again later makes sense: for a request also
 * when it refuses the account (see isRefused), since a password is being changed then.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, syscall, name, message, stack, driverError } = error as Record<string, unknown>;
  if (driverError) return isDatabaseAway(driverError); // TypeORM wraps pg's error
  if (CONNECTION_LOST.has(name)) return true;
  if (CONNECTING.has(syscall)) return true; // also ENOENT (a Unix socket that is not there), EMFILE
  if (typeof code === 'string') {
    return SERVER_CLASSES.has(code.slice(0, 2)) || code === READ_ONLY || SOCKET_ERRORS.test(code);
  }
  const fromPool = typeof stack === 'string' && /[\\/]pg(-pool)?[\\/]/.test(stack);
  return fromPool && typeof message === 'string' && POOL_MESSAGES.test(message);
}

/** Whether the server does not let us in: at the start, where no service has run yet, waiting would not help. */
export function isRefused(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, driverError } = error as Record<string, unknown>;
  if (driverError) return isRefused(driverError);
  return typeof code === 'string' && code.startsWith(REFUSED);
}
