/** Returns the `code` of a system error (`ENOENT`) or of PostgreSQL (`28P01`). */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

export function errorMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}

/** Returns the message, or the code if there is none, as when a name has several addresses. */
export function errorReason(error: unknown): string {
  return errorMessage(error) || String(errorCode(error));
}
