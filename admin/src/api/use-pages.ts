import { useCallback, useEffect, useMemo, useRef } from 'react';
import useSWRInfinite from 'swr/infinite';
import type { ApiError } from './api.js';
import type { Page } from './types.js';

/** A search may answer pages with few entries or none: so many are loaded until there is something to show. */
const PAGES_AT_ONCE = 5;

type List = 'users' | 'devices' | 'sessions' | 'events';
type Answer<Row> = Page & { readonly [name in List]?: readonly Row[] };

/** All that was loaded of a list with a cursor. */
export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
  /** Whether `rows` belong to the search before, until the answer comes. */
  readonly isOld: boolean;
  readonly hasMore: boolean;
  readonly error: ApiError | undefined;
  readonly more: () => void;
  readonly reload: () => void;
}

/**
 * Loads a list page by page, and follows short pages.
 * @param path with its query; null: nothing is loaded
 * @param list member of the answer that has the rows
 * @param enough rows that one load should bring
 */
export function usePages<Row>(path: string | null, list: List, enough = 20): Pages<Row> {
  const { data, error, size, setSize, isLoading, isValidating, mutate } = useSWRInfinite<
    Answer<Row>,
    ApiError
  >(
    (index, before: Answer<Row> | null) => {
      if (path === null) return null;
      if (index === 0) return path;
      if (!before?.next_cursor) return null;
      return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(before.next_cursor)}`;
    },
    { revalidateFirstPage: false, revalidateOnMount: true, keepPreviousData: true },
  );
  const loaded = data ?? [];
  const rows = useMemo(() => (data ?? []).flatMap((page) => page[list] ?? []), [data, list]);
  const hasMore = loaded.at(-1)?.next_cursor !== undefined;
  /** Pages and rows before the present load. */
  const begun = useRef({ path, pages: 0, rows: 0 });
  if (begun.current.path !== path) begun.current = { path, pages: 0, rows: 0 };

  const { pages, rows: rowsBefore } = begun.current;
  const isShort = rows.length - rowsBefore < enough && loaded.length - pages < PAGES_AT_ONCE;
  const goesOn = hasMore && isShort && !error && !isValidating && loaded.length === size;
  useEffect(() => {
    if (goesOn) void setSize((before) => before + 1);
  }, [goesOn, setSize]);

  return {
    rows,
    isLoading: isLoading || (isValidating && loaded.length < size),
    isOld: isLoading && rows.length > 0,
    hasMore,
    error,
    more: () => {
      begun.current = { path, pages: loaded.length, rows: rows.length };
      void setSize(loaded.length + 1);
    },
    reload: useCallback(() => void mutate(), [mutate]),
  };
}
