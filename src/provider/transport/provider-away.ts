/** From Node.js, axios and openid-client. */
const AWAY =
  /^(?:E(?:CONNREFUSED|CONNRESET|CONNABORTED|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT|AI_AGAIN)|UND_ERR_(?:CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|SOCKET)|OAUTH_TIMEOUT)$/;
const DEEPEST = 8;

/** Whether an error, or what caused it, says that a provider is away or slow, and not that it answered wrongly. */
export function isAway(error: unknown): boolean {
  let at = error;
  for (let depth = 0; depth < DEEPEST && typeof at === 'object' && at !== null; depth++) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown };
    if (typeof code === 'string' && AWAY.test(code)) return true;
    at = cause;
  }
  return false;
}
