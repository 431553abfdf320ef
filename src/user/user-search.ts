import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, type Repository } from 'typeorm';
import { addressKey } from '../platform/config/urls/email-address.js';
import { placeOf, timeAt } from '../platform/database/page.js';
import { errorCode } from '../platform/errors/error-facts.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import {
  formatSearchCursor,
  parseSearchCursor,
  type SearchOrder,
  type SearchPlace,
} from './search-cursor.js';
import { UserLifecycles, type UserQuery, type UserStates } from './user-lifecycle.js';
import { findByWords, LAST, whereWords, type Found, type FoundPage } from './user-word-search.js';
import { searchedWords } from './user-words.js';
import { User } from './user.entity.js';

/** What a search looks for; each member that is set restricts the result. */
export interface UserFilter {
  /** Beginnings of words of the name or of the local part of the e-mail address, or of a whole address. */
  readonly prefix?: string | undefined;
  readonly email?: string | undefined;
  /** One of the effective `roles`. */
  readonly role?: string | undefined;
  readonly suspended?: boolean | undefined;
  /** What a feature says of the user; null: nothing. */
  readonly state?: { readonly name: keyof UserStates; readonly value: boolean | null } | undefined;
  readonly provider?: string | undefined;
  readonly userId?: string | undefined;
}

export interface UserPage {
  readonly users: readonly User[];
  /** Cursor of the next page; undefined for the last one. */
  readonly next: string | undefined;
}

/** Newest users among which a role is looked for before its index is read. */
const MOST_RECENT = 2000;

const CANCELED = '57014'; // by the statement timeout

/**
 * Searches users (docs/endpoints.md#for-your-backend): `prefix` and `email` in the order of the key that is
 * searched, all else newest first. Each page continues after the last row of the page before, in the order of
 * one index.
 */
@Injectable()
export class UserSearch {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly lifecycles: UserLifecycles,
  ) {}

  /**
   * @param cursor `next` of the page before
   * @throws OAuthError `invalid_request` for another cursor, and if the search takes too long
   */
  async find(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    try {
      const { found, stopped } = await this.findMost(filter, limit + 1, cursor);
      const last = found.length > limit ? found[limit - 1] : stopped;
      return { users: found.slice(0, limit).map(({ user }) => user), next: last && formatSearchCursor(last) };
    } catch (error) {
      const isWide =
        filter.role !== undefined ||
        filter.provider !== undefined ||
        filter.suspended !== undefined ||
        filter.state !== undefined;
      if (!isWide || errorCode(error) !== CANCELED) throw error;
      throw new OAuthError('invalid_request', 'the search takes too long: narrow the search', {
        cause: error,
      });
    }
  }

  private async findMost(filter: UserFilter, most: number, cursor?: string): Promise<FoundPage> {
    const { email, prefix } = filter;
    const place = (...orders: SearchOrder[]): SearchPlace | undefined =>
      cursor === undefined ? undefined : parseSearchCursor(cursor, orders);
    if (email !== undefined) {
      const query = this.select(filter).andWhere({ emailKey: addressKey(email) });
      if (prefix !== undefined) {
        const words = searchedWords(prefix);
        if (words.length > 0) whereWords(query, words, (exists) => `(${exists} OR ${BEGINS})`);
        else query.andWhere(BEGINS);
        query.setParameters(addressRange(prefix));
      }
      return { found: await findByEmail(query, most, place('email')) };
    }
    if (prefix === undefined) return { found: await this.findNewest(filter, most, place('created')) };
    const after = prefix.includes('@') ? place('name', 'email') : place('name');
    return this.findByPrefix(filter, prefix, most, after);
  }

  /** Finds users by words; for an address, first those whose address begins so. */
  private async findByPrefix(
    filter: UserFilter,
    prefix: string,
    most: number,
    after?: SearchPlace,
  ): Promise<FoundPage> {
    const words = searchedWords(prefix);
    const byWords = this.select(filter);
    const found: Found[] = [];
    if (prefix.includes('@')) {
      byWords.andWhere(`${BEGINS} IS NOT TRUE`, addressRange(prefix));
      const byEmail = this.select(filter).andWhere(BEGINS, addressRange(prefix));
      if (after?.by !== 'name') found.push(...(await findByEmail(byEmail, most, after)));
    }
    if (words.length === 0 || found.length === most) return { found };
    const place = after?.by === 'name' ? after : undefined;
    const page = await findByWords(byWords, words, most - found.length, place);
    return { found: [...found, ...page.found], stopped: page.stopped };
  }

  /**
   * The index of roles has no order: PostgreSQL reads and sorts all users of a role, unless the newest users
   * fill the page. So few users of any role cost little, and a role of many costs much only if the newest
   * users lack it.
   */
  private async findNewest(filter: UserFilter, most: number, after?: SearchPlace): Promise<Found[]> {
    const select = (): { query: UserQuery; alias: string } => {
      const { query, alias } = this.restricted(filter);
      query.addSelect(placeOf(`${alias}.createdAt`), 'place');
      if (after) query.andWhere(before(alias), after);
      return { query, alias };
    };
    if (filter.role === undefined) {
      const { query, alias } = select();
      return readNewest(query, `${alias}.createdAt`, most);
    }
    const recent = select().query.andWhere((query) => {
      const newest = query.subQuery().select('newest.userId').from(User, 'newest');
      if (after) newest.where(before('newest'));
      newest.orderBy('newest.createdAt', 'DESC').addOrderBy('newest.userId', 'DESC').limit(MOST_RECENT);
      return `user.userId IN ${newest.getQuery()}`;
    });
    const found = await readNewest(recent, 'place', most);
    return found.length === most ? found : readNewest(select().query, 'place', most);
  }

  private select(filter: UserFilter): UserQuery {
    return this.restricted(filter).query;
  }

  /** @returns also the alias by which an index finds the newest users */
  private restricted({ userId, role, suspended, state, provider }: UserFilter) {
    const query = this.users.createQueryBuilder('user').where({ removedAt: IsNull() });
    if (userId !== undefined) query.andWhere({ userId });
    if (provider !== undefined) query.andWhere({ provider });
    if (suspended !== undefined) query.andWhere({ suspendedAt: suspended ? Not(IsNull()) : IsNull() });
    if (role !== undefined)
      query.andWhere(`user.claims -> 'roles' @> :role`, { role: JSON.stringify([role]) });
    const alias = state ? this.lifecycles.restrict(query, state.name, state.value) : 'user';
    return { query, alias };
  }
}

/** Condition: the address begins with that of `addressRange`. */
const BEGINS = '(user.emailKey >= :begin AND user.emailKey < :end)';

function addressRange(prefix: string): { begin: string; end: string } {
  const begin = addressKey(prefix);
  return { begin, end: begin + LAST };
}

async function findByEmail(query: UserQuery, most: number, after?: SearchPlace): Promise<Found[]> {
  if (after) query.andWhere('(user.emailKey, user.userId) > (:key, :id)', after);
  const users = await query.orderBy('user.emailKey').addOrderBy('user.userId').limit(most).getMany();
  return users.map((user) => ({ user, by: 'email', key: user.emailKey!, id: user.userId }));
}

/** Condition: a user is behind the place `key`, `id` in the list of the newest. */
function before(user: string): string {
  return `(${user}.createdAt, ${user}.userId) < (${timeAt(':key')}, :id)`;
}

/** @param time by which the list is sorted: a column, or `place`, an expression that no index has */
async function readNewest(query: UserQuery, time: string, most: number): Promise<Found[]> {
  query.orderBy(time, 'DESC').addOrderBy('user.userId', 'DESC').limit(most);
  // `place` is exact: a Date has no microseconds.
  const { entities, raw } = await query.getRawAndEntities<{ place: string }>();
  return entities.map((user, i) => ({ user, by: 'created', key: raw[i]!.place, id: user.userId }));
}
