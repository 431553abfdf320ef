import { In, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { nameKey, nameKeys } from '../last-identity.js';
import type { SearchPlace } from './search-cursor.js';
import { User } from '../user.entity.js';
import { UserWord } from './user-word.entity.js';
import { wordKeys } from './user-words.js';

/**
 * Entries of the index that one page of a search reads at most: some 20 ms. A page may be short, even empty,
 * and not be the last one.
 */
export const WALK = 5000;
/** Words of a search among which the rarest is looked for. */
const MOST_COUNTED = 3;
/** Above every character that a key may have. */
export const LAST = '\u{10ffff}';

/**
 * Writes the words of users whom the caller has locked or created; a sign-in does so by its own statement.
 */
export async function replaceWords(
  manager: EntityManager,
  users: readonly Pick<User, 'userId' | 'provider' | 'providerUserId' | 'username' | 'email' | 'identity'>[],
): Promise<void> {
  await manager.delete(UserWord, { userId: In(users.map(({ userId }) => userId)) });
  const words = users.flatMap(({ userId, provider, providerUserId, username, email, identity }) => {
    const keys = [...wordKeys(username, email), ...nameKeys(provider, providerUserId, identity ?? {})];
    return keys.map((word) => ({ userId, word }));
  });
  if (words.length > 0) await manager.insert(UserWord, words);
}

/**
 * Finds users of a provider by names at a path (`Identity.names`), whatever their case: the caller compares.
 */
export function findUsersByName(
  manager: EntityManager,
  provider: string,
  path: string,
  names: readonly string[],
): Promise<Pick<User, 'userId' | 'identity'>[]> {
  const keys = names.map((name) => nameKey(provider, path, name));
  return manager
    .createQueryBuilder(User, 'user')
    .innerJoin(UserWord, 'name', 'name.userId = user.userId')
    .select(['user.userId', 'user.identity'])
    .where('name.word = ANY(:keys)', { keys })
    .getMany();
}

/** Returns WALK entries that begin with a word, in the order of the index. */
export function walkWord(
  manager: EntityManager,
  word: string,
  after?: SearchPlace,
): SelectQueryBuilder<UserWord> {
  const walk = manager
    .createQueryBuilder(UserWord, 'word')
    .select(['word.word AS word', 'word.userId AS user_id']);
  walk.where('word.word >= :from AND word.word < :to', { from: word, to: word + LAST });
  if (after) walk.andWhere('(word.word, word.userId) > (:key, :id)', after);
  return walk.orderBy('word.word').addOrderBy('word.userId').limit(WALK);
}

/** Returns the word that the fewest entries begin with, as far as they are counted. */
export async function rarestWord(manager: EntityManager, words: readonly string[]): Promise<string> {
  const counted = words.slice(0, MOST_COUNTED);
  if (counted.length === 1) return counted[0]!;
  const counts: number[] = [];
  for (const word of counted) {
    const walk = walkWord(manager, word);
    const query = manager.createQueryBuilder().select('count(*)::int', 'count');
    query.from(`(${walk.getQuery()})`, 'walked').setParameters(walk.getParameters());
    counts.push((await query.getRawOne<{ count: number }>())!.count);
  }
  return counted[counts.indexOf(Math.min(...counts))]!;
}

/** Returns patterns of LIKE for entries that have all words, behind a space. */
export function patternsOf(words: readonly string[]): string[] {
  return words.map((word) => `% ${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`);
}
