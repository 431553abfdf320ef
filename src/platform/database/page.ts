import type { EntityManager } from 'typeorm';

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
 * SQL: a page of rows of the user `$1`, latest use first, and the row behind it; after the place `$2`, `$3`.
 * Each use writes the column `time`, so it has no index.
 */
export function selectPage(table: string, time: string, id: string, condition = 'true'): string {
  return `
    SELECT *, ${placeOf(time)} || '-' || ${id} AS cursor FROM ${table}
    WHERE user_id = $1 AND ${condition} AND ($2::bigint IS NULL OR (-${placeOf(time)}, ${id}) > (-$2::bigint, $3::uuid))
    ORDER BY ${time} DESC, ${id} LIMIT ${PAGE + 1}`;
}

/** Reads a page after the parsed cursor. @param text with the rows and the `cursor` of `selectPage` */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- callers name it by their `viewOf`
export async function readPage<Row, View>(
  manager: EntityManager,
  text: string,
  viewOf: (row: Row) => View,
  userId: string,
  after?: { readonly place: string; readonly id: string },
): Promise<{ readonly page: View[]; readonly next: { next_cursor?: string } }> {
  const rows = await manager.query<(Row & { cursor: string })[]>(text, [userId, after?.place, after?.id]);
  const page = rows.slice(0, PAGE);
  const next = rows.length > PAGE ? { next_cursor: page.at(-1)!.cursor } : {};
  return { page: page.map(({ cursor: _cursor, ...row }) => viewOf(row as Row)), next };
}
