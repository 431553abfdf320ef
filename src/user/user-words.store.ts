import { In, type EntityManager } from 'typeorm';
import { nameKeys } from './last-identity.js';
import type { User } from './user.entity.js';
import { UserWord } from './user-word.entity.js';
import { wordKeys } from './user-words.js';

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
