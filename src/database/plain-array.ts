export type PlainElement = string | number | Buffer | null;

/**
 * Formats an array parameter without pg's quoting, which is slow for large batches. Only for elements that need no escaping:
 * checked ids, numbers, hexadecimal digits, base64url; never for text from a request. A Buffer is a `bytea`, and null is NULL.
 *
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
export function plainArray(elements: readonly PlainElement[]): string {
  return `{${elements.map(textOf).join()}}`;
}

function textOf(element: PlainElement): string | number {
  if (element === null) return 'NULL';
  return Buffer.isBuffer(element) ? `\\\\x${element.toString('hex')}` : element;
}
