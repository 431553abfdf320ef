import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, type Repository, type SelectQueryBuilder } from 'typeorm';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { ConcurrencyLimit } from '../database/limits.js';
import { placeOf, timeAt } from '../database/page.js';
import { errorCode } from '../errors/error-facts.js';
import { OAuthError } from '../errors/oauth-error.js';
import { formatSearchCursor, parseSearchCursor, type SearchPlace } from './search-cursor.js';
import { searchKey } from './search-key.js';
import { User } from './user.entity.js';

/** What a search looks for; each member that is set restricts the result. */
export interface UserFilter {
  /** Prefix of the name or of the e-mail address. */
  readonly prefix?: string | undefined;
  readonly email?: string | undefined;
  /** One of the effective `roles`. */
  readonly role?: string | undefined;
  readonly suspended?: boolean | undefined;
  /** Whether the directory lets the user in; null: it does not know the user. */
  readonly directory?: boolean | null | undefined;
  readonly provider?: string | undefined;
  readonly userId?: string | undefined;
}

export interface UserPage {
  readonly users: readonly User[];
  /** Cursor of the next page; undefined for the last one. */
  readonly next: string | undefined;
}

interface Found extends SearchPlace {
  readonly user: User;
}

type Query = SelectQueryBuilder<User>;

const COLUMN = { name: 'usernameKey', email: 'emailKey' } as const;

/** Above every character that a key may have. */
const LAST = '\u{10ffff}';

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
  /** Searches at a time: a slow one must leave connections to other requests. */
  private readonly limit: ConcurrencyLimit;

  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    @Inject(SETTINGS) { databasePoolSize }: Pick<Settings, 'databasePoolSize'>,
  ) {
    this.limit = new ConcurrencyLimit(Math.ceil(databasePoolSize / 4));
  }

  /**
   * @param cursor `next` of the page before
   * @throws OAuthError `invalid_request` for another cursor, and if the search takes too long
   */
  async find(filter: UserFilter, limit: number, cursor?: string): Promise<UserPage> {
    try {
      const found = await this.limit.run(() => this.findMost(filter, limit + 1, cursor));
      const next = found.length > limit ? formatSearchCursor(found[limit - 1]!) : undefined;
      return { users: found.slice(0, limit).map(({ user }) => user), next };
    } catch (error) {
      const isWide =
        filter.role !== undefined ||
        filter.provider !== undefined ||
        filter.suspended !== undefined ||
        filter.directory !== undefined;
      if (!isWide || errorCode(error) !== CANCELED) throw error;
      throw new OAuthError('invalid_request', 'the search takes too long: narrow the search', {
        cause: error,
      });
    }
  }

  private async findMost(filter: UserFilter, most: number, cursor?: string): Promise<Found[]> {
    const { email, prefix } = filter;
    if (email !== undefined) {
      const after = cursor === undefined ? undefined : parseSearchCursor(cursor, ['email']);
      const query = this.select(filter).andWhere({ emailKey: searchKey(email) });
      if (prefix !== undefined) query.andWhere(`(${begins('name')} OR ${begins('email')})`, range(prefix));
      return findByKey(query, 'email', most, after);
    }
    if (prefix === undefined) {
      const after = cursor === undefined ? undefined : parseSearchCursor(cursor, ['created']);
      return this.findNewest(filter, most, after);
    }
    const after = cursor === undefined ? undefined : parseSearchCursor(cursor, ['name', 'email']);
    return this.findByPrefix(filter, prefix, most, after);
  }

  /**
   * Finds names first, then addresses of users with another name: so a page reads few users that are listed
   * already.
   */
  private async findByPrefix(
    filter: UserFilter,
    prefix: string,
    most: number,
    after?: SearchPlace,
  ): Promise<Found[]> {
    const byName = this.select(filter).andWhere(begins('name'), range(prefix));
    const names = after?.by === 'email' ? [] : await findByKey(byName, 'name', most, after);
    if (names.length === most) return names;
    const byEmail = this.select(filter).andWhere(
      `${begins('email')} AND (${begins('name')}) IS NOT TRUE`,
      range(prefix),
    );
    const place = after?.by === 'email' ? after : undefined;
    return [...names, ...(await findByKey(byEmail, 'email', most - names.length, place))];
  }

  /**
   * The index of roles has no order: PostgreSQL reads and sorts all users of a role, unless the newest users
   * fill the page. So few users of any role cost little, and a role of many costs much only if the newest
   * users lack it.
   */
  private async findNewest(filter: UserFilter, most: number, after?: SearchPlace): Promise<Found[]> {
    const select = (): Query => {
      const query = this.select(filter).addSelect(placeOf('user.createdAt'), 'place');
      return after ? query.andWhere(before('user'), after) : query;
    };
    if (filter.role === undefined) return readNewest(select(), 'user.createdAt', most);
    const recent = select().andWhere((query) => {
      const newest = query.subQuery().select('newest.userId').from(User, 'newest');
      if (after) newest.where(before('newest'));
      newest.orderBy('newest.createdAt', 'DESC').addOrderBy('newest.userId', 'DESC').limit(MOST_RECENT);
      return `user.userId IN ${newest.getQuery()}`;
    });
    const found = await readNewest(recent, 'place', most);
    return found.length === most ? found : readNewest(select(), 'place', most);
  }

  private select({ userId, role, suspended, directory, provider }: UserFilter): Query {
    const query = this.users.createQueryBuilder('user').where({ removedAt: IsNull() });
    if (userId !== undefined) query.andWhere({ userId });
    if (provider !== undefined) query.andWhere({ provider });
    if (suspended !== undefined) query.andWhere({ suspendedAt: suspended ? Not(IsNull()) : IsNull() });
    if (directory !== undefined) query.andWhere({ directoryActive: directory ?? IsNull() });
    if (role !== undefined)
      query.andWhere(`user.claims -> 'roles' @> :role`, { role: JSON.stringify([role]) });
    return query;
  }
}

/** Condition: the key begins with the prefix of `range`. */
function begins(by: 'name' | 'email'): string {
  return `user.${COLUMN[by]} >= :from AND user.${COLUMN[by]} < :to`;
}

function range(prefix: string): { from: string; to: string } {
  const from = searchKey(prefix);
  return { from, to: from + LAST };
}

async function findByKey(
  query: Query,
  by: 'name' | 'email',
  most: number,
  after?: SearchPlace,
): Promise<Found[]> {
  const key = COLUMN[by];
  if (after) query.andWhere(`(user.${key}, user.userId) > (:key, :id)`, after);
  const users = await query.orderBy(`user.${key}`).addOrderBy('user.userId').limit(most).getMany();
  return users.map((user) => ({ user, by, key: user[key]!, id: user.userId }));
}

/** Condition: a user is behind the place `key`, `id` in the list of the newest. */
function before(user: string): string {
  return `(${user}.createdAt, ${user}.userId) < (${timeAt(':key')}, :id)`;
}

/** @param time by which the list is sorted: `place` is an expression that no index has */
async function readNewest(query: Query, time: 'user.createdAt' | 'place', most: number): Promise<Found[]> {
  query.orderBy(time, 'DESC').addOrderBy('user.userId', 'DESC').limit(most);
  // `place` is exact: a Date has no microseconds.
  const { entities, raw } = await query.getRawAndEntities<{ place: string }>();
  return entities.map((user, i) => ({ user, by: 'created', key: raw[i]!.place, id: user.userId }));
}
