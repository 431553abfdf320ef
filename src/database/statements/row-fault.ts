import { errorCode } from './error-facts.js';

// SQLSTATE classes: two rows that meet where one may be (cardinality), a value that its type does not take (data), and what a
// constraint refuses (integrity). Never those about the server or the way to it, which would be as bad for each row alone.
const CLASSES_OF_ROWS = new Set(['21', '22', '23']);

/** Whether a statement that many rows share may have failed for one of them, so that the others would do without it. */
export function isRowFault(error: unknown): boolean {
  const code = errorCode(error);
  return typeof code === 'string' && code.length === 5 && CLASSES_OF_ROWS.has(code.slice(0, 2));
}
