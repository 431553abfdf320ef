import { useState } from 'react';
import type { Device, Session } from '../api/types.js';
import { usePages, type Pages } from '../api/use-pages.js';

/** Entries that `GET /users/:user_id` has at most of each list. */
const FIRST = 100;

interface Rows {
  readonly devices: Device;
  readonly sessions: Session;
}

/** Rows of a list, and how to load the others. */
export interface Rest<Row> {
  readonly rows: readonly Row[];
  readonly rest: Pages<Row>;
}

/**
 * A list with the first entries of `GET /users/:user_id`. On demand the whole list is loaded, and replaces them.
 * @param path of the user
 */
export function useRest<List extends keyof Rows>(
  path: string,
  list: List,
  first: readonly Rows[List][],
): Rest<Rows[List]> {
  const [isWanted, setWanted] = useState(false);
  const pages = usePages<Rows[List]>(isWanted ? `${path}/${list}` : null, list, FIRST + 1);
  const isReplaced = pages.rows.length > 0;
  return {
    rows: isReplaced ? pages.rows : first,
    rest: {
      ...pages,
      hasMore: isReplaced ? pages.hasMore : first.length >= FIRST,
      more: isReplaced ? pages.more : () => setWanted(true),
    },
  };
}
