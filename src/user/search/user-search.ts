import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, type Repository } from 'typeorm';
import { addressKey } from '../../platform/config/urls/email-address.js';
import { placeOf, timeAt } from '../../platform/database/page.js';
import { errorCode } from '../../platform/errors/error-facts.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import {
  formatSearchCursor,
  otherSearch,
  parseSearchCursor,
  type SearchOrder,
  type SearchPlace,
} from './search-cursor.js';
import { UserLifecycles, type UserQuery, type UserStates } from '../user-lifecycle.js';
import { isFoundBy, searchedWords } from './user-words.js';
import { UserWord } from './user-word.entity.js';
import { LAST, patternsOf, rarestWord, WALK, walkWord } from './user-words.store.js';
import { User } from '../user.entity.js';

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

interface Found extends SearchPlace {
  readonly user: User;
}

interface FoundPage {
  readonly found: readonly Found[];
  /** Where the search has stopped before the page was full; undefined if it has reached the end. */
  readonly stopped?: SearchPlace | undefined;
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
      const { role, provider, suspended, state } = filter;
      const isWide = [role, provider, suspended, state].some((one) => one !== undefined);
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
      const found = await readByEmail(query, most, place('email'));
      if (prefix === undefined) return { found };
      return { found: found.filter(({ user }) => isFoundBy(user, prefix)), stopped: found[most - 1] };
    }
    if (prefix === undefined) return { found: await this.findNewest(filter, most, place('created')) };
    if (!prefix.includes('@')) return this.findByWords(this.select(filter), prefix, most, place('name'));
    return this.findByAddress(filter, prefix, most, place('name', 'email'));
  }

  /** Finds first those users whose address begins so, then others by its words. */
  private async findByAddress(
    filter: UserFilter,
    prefix: string,
    most: number,
    after?: SearchPlace,
  ): Promise<FoundPage> {
    const begin = addressKey(prefix);
    const range = { begin, end: begin + LAST };
    const isBehind = after?.by === 'name';
    const byEmail = this.select(filter).andWhere(BEGINS, range);
    const first = isBehind ? [] : await readByEmail(byEmail, most, after);
    if (first.length === most) return { found: first };
    const others = this.select(filter).andWhere(`${BEGINS} IS NOT TRUE`, range);
    const { found, stopped } = await this.findByWords(
      others,
      prefix,
      most - first.length,
      isBehind ? after : undefined,
    );
    return { found: [...first, ...found], stopped };
  }

  /**
   * Finds users by the beginnings of words, in the order of the word that the fewest users have. Each row of
   * `user_words` has all words of its user, so one range of its index is read.
   * @throws OAuthError `invalid_request` for the cursor of a search for other words
   */
  private async findByWords(
    query: UserQuery,
    prefix: string,
    most: number,
    after?: SearchPlace,
  ): Promise<FoundPage> {
    const words = searchedWords(prefix);
    if (words.length === 0) return { found: [] };
    const { manager } = this.users;
    // No word begins with another one, so the place says by which word the page before was found.
    const word = after ? words.find((one) => after.key.startsWith(one)) : await rarestWord(manager, words);
    if (word === undefined) throw otherSearch();
    const walk = walkWord(manager, word, after);
    query
      .innerJoin(`(${walk.getQuery()})`, 'walked', 'walked.user_id = user.userId')
      .setParameters(walk.getParameters())
      .addSelect('walked.word', 'place')
      // A user with two such words is listed at the first one.
      .andWhere((one) => {
        const earlier = one.subQuery().select('1').from(UserWord, 'earlier');
        // Not `walked.user_id`, which is equal: a distributed database cannot join a walk to a table.
        earlier.where(
          'earlier.userId = user.userId AND earlier.word >= :from AND earlier.word < walked.word',
        );
        return `NOT EXISTS ${earlier.getQuery()}`;
      })
      .andWhere(`' ' || walked.word LIKE ALL (CAST(:patterns AS text[]))`, { patterns: patternsOf(words) })
      .orderBy('walked.word')
      .addOrderBy('walked.user_id');
    const found = await read(query, 'name', most);
    if (found.length === most) return { found };
    // oxfmt-ignore
    const last = await walk.offset(WALK - 1).limit(1).getRawOne<{ word: string; user_id: string }>();
    return { found, stopped: last && { by: 'name', key: last.word, id: last.user_id } };
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
    // By `place`, no index would be in the order of the search.
    const readNewest = (query: UserQuery, time: string): Promise<Found[]> =>
      read(query.orderBy(time, 'DESC').addOrderBy('user.userId', 'DESC'), 'created', most);
    if (filter.role === undefined) {
      const { query, alias } = select();
      return readNewest(query, `${alias}.createdAt`);
    }
    const recent = select().query.andWhere((query) => {
      const newest = query.subQuery().select('newest.userId').from(User, 'newest');
      if (after) newest.where(before('newest'));
      newest.orderBy('newest.createdAt', 'DESC').addOrderBy('newest.userId', 'DESC').limit(MOST_RECENT);
      return `user.userId IN ${newest.getQuery()}`;
    });
    const found = await readNewest(recent, 'place');
    return found.length === most ? found : readNewest(select().query, 'place');
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

/** Condition: the address begins with `begin`. */
const BEGINS = '(user.emailKey >= :begin AND user.emailKey < :end)';

/** Condition: a user is behind the place `key`, `id` in the list of the newest. */
function before(user: string): string {
  return `(${user}.createdAt, ${user}.userId) < (${timeAt(':key')}, :id)`;
}

async function readByEmail(query: UserQuery, most: number, after?: SearchPlace): Promise<Found[]> {
  if (after) query.andWhere('(user.emailKey, user.userId) > (:key, :id)', after);
  query.addSelect('(user.emailKey)', 'place').orderBy('user.emailKey').addOrderBy('user.userId');
  return read(query, 'email', most);
}

/** @param query that selects `place`, since a Date has no microseconds */
async function read(query: UserQuery, by: SearchOrder, most: number): Promise<Found[]> {
  const { entities, raw } = await query.limit(most).getRawAndEntities<{ place: string }>();
  return entities.map((user, i) => ({ user, by, key: raw[i]!.place, id: user.userId }));
}
