import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { OAuthError } from '../platform/errors/oauth-error.js';
import type { SearchPlace } from './search-cursor.js';
import { UserWord } from './user-word.entity.js';
import type { User } from './user.entity.js';

/**
 * Entries of the index that one page reads at most: some 20 ms. A page may be short, even empty, and not be
 * the last one.
 */
const WALK = 5000;
/** Words of a search among which the rarest is looked for. */
const MOST_COUNTED = 3;
/** Above every character that a key may have. */
export const LAST = '\u{10ffff}';

export interface Found extends SearchPlace {
  readonly user: User;
}

export interface FoundPage {
  readonly found: readonly Found[];
  /** Where the search has stopped before the page was full; undefined if it has reached the end. */
  readonly stopped?: SearchPlace | undefined;
}

/**
 * Finds users by the beginnings of words, in the order of the word that the fewest users have. Each row of
 * `user_words` has all words of its user, so one range of its index is read.
 * @param query of users, named `user`, with the other conditions
 * @param words as `searchedWords` returns them; at least one
 * @throws OAuthError `invalid_request` for the cursor of a search for other words
 */
export async function findByWords(
  query: SelectQueryBuilder<User>,
  words: readonly string[],
  most: number,
  after?: SearchPlace,
): Promise<FoundPage> {
  const { manager } = query.connection;
  // No word begins with another one, so the place says by which word the page before was found.
  const word = after ? words.find((one) => after.key.startsWith(one)) : await rarest(manager, words);
  if (word === undefined) {
    throw new OAuthError('invalid_request', 'cursor must be the next_cursor of an answer to the same search');
  }
  const walk = range(manager, word).select(['word.word AS word', 'word.userId AS user_id']);
  walk.orderBy('word.word').addOrderBy('word.userId').limit(WALK);
  if (after) walk.andWhere('(word.word, word.userId) > (:key, :id)', after);
  query
    .innerJoin(`(${walk.getQuery()})`, 'walked', 'walked.user_id = user.userId')
    .setParameters(walk.getParameters())
    .addSelect('walked.word', 'place')
    // A user with two such words is listed at the first one.
    .andWhere((one) => {
      const earlier = one.subQuery().select('1').from(UserWord, 'earlier');
      // Not `walked.user_id`, which is equal: a distributed database cannot join a walk to a table.
      earlier.where('earlier.userId = user.userId AND earlier.word >= :from AND earlier.word < walked.word');
      return `NOT EXISTS ${earlier.getQuery()}`;
    })
    .orderBy('walked.word')
    .addOrderBy('walked.user_id')
    .limit(most);
  const others = words.filter((one) => one !== word);
  if (others.length > 0) query.andWhere(hasWords('walked.word', others), parametersOf(others));
  const { entities, raw } = await query.getRawAndEntities<{ place: string }>();
  const found = entities.map((user, i): Found => {
    return { user, by: 'name', key: raw[i]!.place, id: user.userId };
  });
  if (found.length === most) return { found };
  // prettier-ignore
  const last = await walk.offset(WALK - 1).limit(1).getRawOne<{ word: string; user_id: string }>();
  return { found, stopped: last && { by: 'name', key: last.word, id: last.user_id } };
}

/** Adds the condition: the user has all words, or (`not`) not all of them. */
export function whereWords(
  query: SelectQueryBuilder<User>,
  words: readonly string[],
  toCondition: (exists: string) => string,
): void {
  query.andWhere((one) => {
    const own = one.subQuery().select('1').from(UserWord, 'own').where('own.userId = user.userId');
    own.andWhere(hasWords('own.word', words));
    return toCondition(`EXISTS ${own.getQuery()}`);
  }, parametersOf(words));
}

async function rarest(manager: EntityManager, words: readonly string[]): Promise<string> {
  const [first, ...others] = words.slice(0, MOST_COUNTED);
  if (others.length === 0) return first!;
  let [word, fewest] = [first!, await countFew(manager, first!)];
  for (const other of others) {
    const count = await countFew(manager, other);
    if (count < fewest) [word, fewest] = [other, count];
  }
  return word;
}

/** Counts the entries of a word up to WALK. */
async function countFew(manager: EntityManager, word: string): Promise<number> {
  const few = range(manager, word).select('1').limit(WALK);
  const row = await manager
    .createQueryBuilder()
    .select('count(*)::int', 'count')
    .from(`(${few.getQuery()})`, 'few')
    .setParameters(few.getParameters())
    .getRawOne<{ count: number }>();
  return row!.count;
}

function range(manager: EntityManager, from: string): SelectQueryBuilder<UserWord> {
  const query = manager.createQueryBuilder(UserWord, 'word');
  return query.where('word.word >= :from AND word.word < :to', { from, to: from + LAST });
}

/** Condition: words begin with those of `parametersOf`. */
function hasWords(key: string, words: readonly string[]): string {
  return words.map((_, i) => `strpos(' ' || ${key}, :word${i}) > 0`).join(' AND ');
}

function parametersOf(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.map((word, i) => [`word${i}`, ` ${word}`]));
}
