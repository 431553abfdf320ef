// SQLSTATE classes about the server, not about the statement: connection, resources, operator, system.
const SERVER_CLASSES = new Set(['08', '53', '57', '58']);
const READ_ONLY = '25006'; // a server that is failing over
const SOCKET_ERRORS = /^E(CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN)$/;
const POOL_MESSAGES = /timeout|Connection terminated|connection error|not queryable/i;

/** Whether an error says that the database is away or overloaded, so that trying again later makes sense. */
export function isDatabaseAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, syscall, message, stack, driverError } = error as Record<string, unknown>;
  if (driverError) return isDatabaseAway(driverError); // TypeORM wraps pg's error
  if (code === 'ENOENT') return syscall === 'connect'; // a Unix socket that is not there
  if (typeof code === 'string') {
    return SERVER_CLASSES.has(code.slice(0, 2)) || code === READ_ONLY || SOCKET_ERRORS.test(code);
  }
  const fromPool = typeof stack === 'string' && /[\\/]pg(-pool)?[\\/]/.test(stack);
  return fromPool && typeof message === 'string' && POOL_MESSAGES.test(message);
}
