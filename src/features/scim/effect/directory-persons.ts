import { Any, type EntityManager } from 'typeorm';
import { deriveUserId } from '../../../identity/user-id.js';
import type { Directory } from '../protocol/directory.guard.js';
import type { ScimSettings } from '../scim.settings.js';
import type { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryName } from './directory-name.entity.js';

type Attribute = ScimSettings['attribute'];

/** Returns the name by which a directory user is compared with users (`scim_attribute`). */
export function nameOf(user: Pick<DirectoryUser, Attribute>, attribute: Attribute): string | null {
  return user[attribute];
}

/** Returns a name as it is looked up. */
export function toNameKey(attribute: Attribute, name: string): string {
  return attribute === 'userName' ? name.toLowerCase() : name;
}

/** Returns whether two names are of one person: user names have no case (RFC 7643 §4.1.1). */
export function isSameName(attribute: Attribute, one: string, other: string): boolean {
  if (attribute === 'externalId') return one === other;
  // Both cases: the sign of kelvin is no k, but its lower case is.
  return one.toLowerCase() === other.toLowerCase() && one.toUpperCase() === other.toUpperCase();
}

/** A user who is, or was, a user of the directory. */
export interface Person {
  readonly userId: string;
  readonly directoryUser: DirectoryUser;
  /** Whether the user has the present name of the directory user; else only the link is left. */
  readonly isNamed: boolean;
  /** Undefined: the user has not signed in since the directory is on. */
  readonly known: DirectoryName | undefined;
}

/**
 * Finds the users with the names of directory users, and those who are linked to them. The id of a user
 * follows from the user id at the provider, also before the first sign-in.
 */
export async function findPersons(
  manager: EntityManager,
  { provider, settings: { attribute, claim } }: Pick<Directory, 'provider' | 'settings'>,
  users: readonly DirectoryUser[],
): Promise<Person[]> {
  const byId = new Map(users.map((user) => [user.id, user]));
  const byKey = new Map<string, DirectoryUser>();
  const persons = new Map<string, Person>();
  for (const directoryUser of users) {
    const name = nameOf(directoryUser, attribute);
    if (name === null) continue;
    const key = toNameKey(attribute, name);
    byKey.set(key, directoryUser);
    for (const one of claim === 'provider_user_id' ? new Set([name, key]) : []) {
      const userId = deriveUserId(provider, one);
      persons.set(userId, { userId, directoryUser, isNamed: true, known: undefined });
    }
  }
  const keys = Any([...byKey.keys()]);
  const rows = await manager.findBy(DirectoryName, [
    { provider, ...(attribute === 'userName' ? { nameKey: keys } : { name: keys }) },
    { directoryUserId: Any([...byId.keys()]) },
    ...(persons.size > 0 ? [{ userId: Any([...persons.keys()]) }] : []),
  ]);
  for (const known of rows) {
    const { userId, name, directoryUserId } = known;
    const sameKey = byKey.get(toNameKey(attribute, name));
    const named =
      sameKey && isSameName(attribute, nameOf(sameKey, attribute)!, name)
        ? sameKey
        : persons.get(userId)?.directoryUser;
    const directoryUser = named ?? byId.get(directoryUserId ?? '');
    if (directoryUser) persons.set(userId, { userId, directoryUser, isNamed: named !== undefined, known });
  }
  return [...persons.values()];
}

/** Links users to the directory users whose names they have. */
export async function linkPersons(
  manager: EntityManager,
  persons: readonly (Person & { readonly providerUserId: string })[],
): Promise<void> {
  const others = persons.filter(
    ({ known, isNamed, directoryUser }) => isNamed && known?.directoryUserId !== directoryUser.id,
  );
  if (others.length === 0) return;
  const insert = manager
    .createQueryBuilder()
    .insert()
    .into(DirectoryName)
    .values(
      others.map(({ userId, known, providerUserId, directoryUser: { id, provider } }) => {
        // Without a row, the name is the user id: else the user would not have been found.
        const name = known?.name ?? providerUserId;
        const nameKey = toNameKey('userName', name);
        return {
          userId,
          provider,
          name,
          nameKey,
          directoryUserId: id,
          facts: null,
          namedAt: () => `'epoch'`,
        };
      }),
    );
  await insert.orUpdate(['directory_user_id'], ['user_id']).updateEntity(false).execute();
}
