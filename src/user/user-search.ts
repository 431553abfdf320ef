import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Sql } from '../database/sql.js';
import { formatCursor, parseCursor, type Place } from '../http/parameters/cursor.js';
import { conditionsOf, selectByWalk, selectByWeek, selectPlain } from './search.sql.js';
import type { Found, UserFilter } from './search.sql.js';

export type { UserFilter };

/** Page of a search. It may be shorter than asked for, even empty, and still not be the last one. */
export interface UserPage {
  readonly userIds: readonly string[];
  readonly next: string | undefined;
}

/** Users that were found up to a place; without `end`, up to the end of the list. More than the page takes: it is full. */
interface Part {
  readonly found: readonly Found[];
  readonly end: Place | undefined;
}

/** The plans must not depend on statistics, which may be old: no table is read as a whole, and no B-tree to its end. */
const plansFor = (needsBitmap: boolean): string => `
  SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL jit = off;
  SET LOCAL enable_bitmapscan = ${needsBitmap ? 'on' : 'off'}`;

/** Users that are read without an index for what is searched: many match if a page is found in them. */
const SHORT_WALK = 500;
/** Users that are read after so many have matched that their index was left. */
const LONG_WALK = 3000;

/**
 * Searches users, newest first (docs/endpoints.md#for-your-backend). The time of a search does not depend on
 * the number of users that match.
 */
@Injectable()
export class UserSearch {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
  ) {}

  /** @param cursor `next` of the page before */
  async find(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    const after = parseCursor(cursor);
    const { fits, finders, values } = conditionsOf(filter);
    const ask = async (manager: EntityManager, text: string, from = after): Promise<Part> =>
      partOf(await manager.query(text, [from?.place ?? null, from?.id ?? null, ...values]), from);
    if (this.sql.distributed || filter.userId !== undefined) {
      return pageOf(await ask(this.dataSource.manager, selectPlain(fits, limit + 1)), limit);
    }
    return this.dataSource.transaction(async (manager) => {
      const walk = async (length: number, from?: Place): Promise<Part> => {
        await manager.query(plansFor(false));
        return ask(manager, selectByWalk(fits, length, limit + 1), from);
      };
      let longest = await walk(finders.length > 0 ? SHORT_WALK : LONG_WALK);
      for (const finder of isOpen(longest, limit) ? finders : []) {
        await manager.query(plansFor(finder.needsBitmap));
        let part = await ask(manager, selectByWeek(finder, fits, limit + 1));
        if (isOpen(part, limit)) {
          const { found, end } = await walk(LONG_WALK, part.end);
          part = { found: [...part.found, ...found], end };
        }
        if (!isOpen(part, limit)) return pageOf(part, limit);
        if (isAfter(part.end!, longest.end!)) longest = part;
      }
      return pageOf(longest, limit);
    });
  }
}

function partOf(rows: readonly Found[], from: Place | undefined): Part {
  const last = rows.findIndex(({ endPlace }) => endPlace !== null);
  const found = rows.slice(0, last === -1 ? rows.length : last + 1).filter(({ fits }) => fits);
  if (last === -1) return { found, end: undefined };
  const end = { place: rows[last]!.endPlace!, id: rows[last]!.endId! };
  return { found, end: from && isAfter(from, end) ? from : end }; // the week began before the page
}

/** Whether the page has room for more, and there may be more. */
function isOpen({ found, end }: Part, limit: number): boolean {
  return end !== undefined && found.length <= limit;
}

function pageOf({ found, end }: Part, limit: number): UserPage {
  const next = found.length > limit ? found[limit - 1] : end;
  return { userIds: found.slice(0, limit).map(({ id }) => id), next: next && formatCursor(next) };
}

/** Whether a place comes later in the list, which is sorted downwards. */
function isAfter(one: Place, other: Place): boolean {
  const [a, b] = [BigInt(one.place), BigInt(other.place)];
  return a < b || (a === b && one.id < other.id);
}
