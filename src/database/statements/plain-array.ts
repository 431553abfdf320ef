/**
 * Formats an array parameter without pg's quoting, which is slow for large batches. Only for elements that need no escaping:
 * checked ids, numbers, hexadecimal digits, base64url; never for text from a request.
 *
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
export function plainArray(elements: readonly (string | number)[]): string {
  return `{${elements.join()}}`;
}

/** Formats a `bytea[]`; null is NULL. */
export function plainBytes(elements: readonly (Buffer | null)[]): string {
  const texts = elements.map((bytes) => (bytes === null ? 'NULL' : `\\\\x${bytes.toString('hex')}`));
  return `{${texts.join()}}`;
}
