import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Sql } from '../database/statements/sql.js';
import { cursorOf, placeIn, type Place } from '../http/parameters/cursor.js';
import { conditionsOf, selectByDay, selectByWalk, selectPlain, type Found } from './search.sql.js';

/** What a search asks for. */
export type UserFilter = Parameters<typeof conditionsOf>[0];

/** Page of a search. It may be shorter than asked for, even empty, and still not be the last one. */
export interface UserPage {
  readonly userIds: readonly string[];
  readonly next: string | undefined;
}

/** The plans must not depend on statistics, which may be old: no table is read as a whole, and no B-tree to its end. */
const plansFor = (needsBitmap: boolean): string => `
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = ${needsBitmap ? 'on' : 'off'}; SET LOCAL jit = off`;

/** Before every other id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Searches users, newest first (contract §9). The time of a search does not depend on the number of users that match. */
@Injectable()
export class UserSearch {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
  ) {}

  /** @param cursor `next` of the page before */
  async find(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    const after = placeIn(cursor);
    const conditions = conditionsOf(filter);
    const ask = (manager: EntityManager, select: typeof selectByDay, place?: Place): Promise<Found[]> =>
      manager.query(select(conditions, limit + 1), [
        place?.place ?? null,
        place?.id ?? null,
        ...conditions.values,
      ]);
    if (this.sql.distributed || filter.userId !== undefined) {
      return pageOf(await ask(this.dataSource.manager, selectPlain, after), limit);
    }
    return this.dataSource.transaction(async (manager) => {
      await manager.query(plansFor(conditions.needsBitmap));
      const found = conditions.ofDay.length > 0 ? await ask(manager, selectByDay, after) : [];
      const crowded = found.findIndex(({ end }) => end !== null);
      if (crowded === -1 && conditions.ofDay.length > 0) return pageOf(found, limit);
      // On a day on which so many match, a walk finds the page soon.
      const from = crowded === -1 ? after : earlier({ place: found[crowded]!.end!, id: FIRST_ID }, after);
      return pageOf(
        [...found.slice(0, Math.max(crowded, 0)), ...(await ask(manager, selectByWalk, from))],
        limit,
      );
    });
  }
}

function pageOf(rows: readonly Found[], limit: number): UserPage {
  const fitting = rows.filter(({ fits }) => fits);
  const last = fitting.length > limit ? fitting[limit - 1] : rows.find(({ end }) => end !== null);
  return { userIds: fitting.slice(0, limit).map(({ id }) => id), next: last && cursorOf(last) };
}

/** Returns the place that comes later in the list. */
function earlier(one: Place, other?: Place): Place {
  return other && BigInt(other.place) < BigInt(one.place) ? other : one;
}
