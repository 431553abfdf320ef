/** The `code` of a system error (`ENOENT`) or of PostgreSQL's (`28P01`); undefined where there is none. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** The message of an error, whichever realm made it. */
export function errorMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}
