import type { EntityManager } from 'typeorm';
import { OptionalText } from './parameter.js';

/** Place of a row as text. */
const CURSOR = /^(\d{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Place of a row in a list that is sorted by a time, then by an id; the time in microseconds since the epoch. */
export interface Place {
  readonly place: string;
  readonly id: string;
}

export function OptionalCursor(): PropertyDecorator {
  return OptionalText({ matches: { pattern: CURSOR, as: 'the next_cursor of an answer' } });
}

export class CursorDto {
  /** `next_cursor` of the page before; left out: the first page. */
  @OptionalCursor()
  cursor?: string;
}

/** @returns undefined for the first page */
export function placeIn(cursor = ''): Place | undefined {
  const [, place, id] = CURSOR.exec(cursor) ?? [];
  return place === undefined || id === undefined ? undefined : { place, id };
}

export function cursorOf({ place, id }: Place): string {
  return `${place}-${id}`;
}

/** SQL: the microseconds of a time, exactly. */
export function placeOf(time: string): string {
  return `(extract(epoch FROM ${time}) * 1000000)::bigint`;
}

/** SQL: the time of a place, exactly up to the year 2255. */
export function timeAt(place: string): string {
  return `('epoch'::timestamptz + ${place}::bigint * interval '1 microsecond')`;
}

/** Rows of a user that one call lists. */
const PAGE = 100;

/**
 * SQL: a page of rows of the user `$1`, latest use first, and the row behind it; after the place `$2`, `$3`. Each use writes the
 * column `time`, so it has no index.
 */
export function selectPage(table: string, time: string, id: string, condition = 'true'): string {
  return `
    SELECT *, ${placeOf(time)} || '-' || ${id} AS cursor FROM ${table}
    WHERE user_id = $1 AND ${condition} AND ($2::bigint IS NULL OR (-${placeOf(time)}, ${id}) > (-$2::bigint, $3::uuid))
    ORDER BY ${time} DESC, ${id} LIMIT ${PAGE + 1}`;
}

/** Reads a page. @param text with the rows and the `cursor` of `selectPage` */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name it by their `viewOf`
export async function readPage<Row, View>(
  manager: EntityManager,
  text: string,
  viewOf: (row: Row) => View,
  userId: string,
  after?: string,
): Promise<{ readonly page: View[]; readonly next: { next_cursor?: string } }> {
  const { place, id } = placeIn(after) ?? {};
  const rows = await manager.query<(Row & { cursor: string })[]>(text, [userId, place, id]);
  const page = rows.slice(0, PAGE);
  const next = rows.length > PAGE ? { next_cursor: page.at(-1)!.cursor } : {};
  return { page: page.map(({ cursor: _cursor, ...row }) => viewOf(row as Row)), next };
}
