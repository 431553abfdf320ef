import { OAuthError } from '../../platform/errors/oauth-error.js';
import { UUID } from '../../platform/http/parameters/uuid.js';

/**
 * Order of a search: `created` is newest first, the others are by the key of the name or of the e-mail
 * address.
 */
export type SearchOrder = 'created' | 'name' | 'email';

/** Place of a user in the list that a search finds. */
export interface SearchPlace {
  readonly by: SearchOrder;
  /** Value of the column by which the list is sorted; of `created`, the microseconds since the epoch. */
  readonly key: string;
  readonly id: string;
}

/** Form of a cursor; a key has at most 255 characters of at most six bytes of JSON each. @public */
export const SEARCH_CURSOR = /^[\w-]{1,2200}$/;

const MICROSECONDS = /^\d{1,16}$/;

export function formatSearchCursor({ by, key, id }: SearchPlace): string {
  return Buffer.from(JSON.stringify([by, key, id])).toString('base64url');
}

/**
 * @param orders of the search
 * @throws OAuthError `invalid_request` for anything but a cursor of such a search
 */
export function parseSearchCursor(cursor: string, orders: readonly SearchOrder[]): SearchPlace {
  const [by, key, id] = parseTexts(Buffer.from(cursor, 'base64url').toString());
  const order = orders.find((one) => one === by);
  const isKey = key !== undefined && (order === 'created' ? MICROSECONDS.test(key) : !key.includes('\0'));
  if (order === undefined || !isKey || id === undefined || !UUID.test(id)) throw otherSearch();
  return { by: order, key, id };
}

/** Refusal of a cursor that another search has returned. */
export function otherSearch(): OAuthError {
  return new OAuthError('invalid_request', 'cursor must be the next_cursor of an answer to the same search');
}

function parseTexts(json: string): (string | undefined)[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value)
      ? value.map((one: unknown) => (typeof one === 'string' ? one : undefined))
      : [];
  } catch {
    return [];
  }
}
