import { Any, type EntityManager } from 'typeorm';
import { deriveUserId } from '../../../identity/user-id.js';
import { USER_ID } from '../../../provider/identity/identity.js';
import type { ChangedUser } from '../../../user/user-changes.store.js';
import { findUsersByName } from '../../../user/search/user-words.store.js';
import type { Directory } from '../protocol/directory.guard.js';
import type { ScimSettings } from '../scim.settings.js';
import { DirectoryFormerName, DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryLink } from './directory-link.entity.js';

type Attribute = ScimSettings['attribute'];

/** Of a sign-in without `scim_claim`: no directory user has this name. */
export const UNNAMED = '';

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

/** Returns whether the provider has named a user so at the last sign-in. */
export function hasName(
  { providerUserId, identity }: Pick<ChangedUser, 'providerUserId' | 'identity'>,
  name: string | null | undefined,
  { attribute, claim }: Pick<ScimSettings, 'attribute' | 'claim'>,
): boolean {
  const own = claim === USER_ID ? providerUserId : (identity?.names?.[claim] ?? UNNAMED);
  return Boolean(name) && isSameName(attribute, own, name!);
}

/** A user who is, or was, a user of the directory. */
export interface Person {
  readonly userId: string;
  readonly directoryUser: DirectoryUser;
  /** Whether the user has the present name of the directory user; else only the link is left. */
  readonly isNamed: boolean;
  /** The directory user to whom the user is linked; undefined: none. */
  readonly link: string | undefined;
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
  const named = (userId: string, directoryUser: DirectoryUser): void => {
    persons.set(userId, { userId, directoryUser, isNamed: true, link: undefined });
  };
  for (const directoryUser of users) {
    const name = directoryUser[attribute];
    if (name === null) continue;
    const key = toNameKey(attribute, name);
    byKey.set(key, directoryUser);
    for (const one of claim === USER_ID ? new Set([name, key]) : []) {
      named(deriveUserId(provider, one), directoryUser);
    }
  }
  const isDerived = claim === USER_ID && attribute === 'externalId';
  const keys = isDerived ? [] : [...byKey.keys()];
  const found = keys.length > 0 ? await findUsersByName(manager, provider, claim, keys) : [];
  for (const { userId, identity } of found) {
    const name = identity?.names?.[claim] ?? UNNAMED;
    const directoryUser = byKey.get(toNameKey(attribute, name));
    if (directoryUser && isSameName(attribute, directoryUser[attribute]!, name)) {
      named(userId, directoryUser);
    }
  }
  const links = await manager.findBy(DirectoryLink, [
    { directoryUserId: Any([...byId.keys()]) },
    { userId: Any([...persons.keys()]) },
  ]);
  for (const { userId, directoryUserId: link } of links) {
    const person = persons.get(userId);
    const directoryUser = person?.directoryUser ?? byId.get(link)!;
    persons.set(userId, { userId, directoryUser, isNamed: person !== undefined, link });
  }
  return [...persons.values()];
}

/** Links users to the directory users whose names they have. */
export async function linkPersons(manager: EntityManager, persons: readonly Person[]): Promise<void> {
  const others = persons.filter(({ link, isNamed, directoryUser }) => isNamed && link !== directoryUser.id);
  if (others.length === 0) return;
  const links = others.map(({ userId, directoryUser: { id } }) => ({ userId, directoryUserId: id }));
  await manager.upsert(DirectoryLink, links, ['userId']);
}

export async function linkOf(manager: EntityManager, userId: string): Promise<string | undefined> {
  return (await manager.findOneBy(DirectoryLink, { userId }))?.directoryUserId;
}

/**
 * Links a user who signs in: to the directory user with the name. If there is none, the user keeps the
 * present link; without a link, it is the one that had the name.
 * @param present link
 * @returns whether the link is another one
 */
export async function linkByName(
  manager: EntityManager,
  { provider, settings: { attribute } }: Pick<Directory, 'provider' | 'settings'>,
  userId: string,
  name: string,
  present: string | undefined,
): Promise<boolean> {
  const key = toNameKey(attribute, name);
  const byName = attribute === 'userName' ? { userNameKey: key } : { externalId: key };
  const user = await manager.findOneBy(DirectoryUser, { provider, ...byName });
  const isNamed = user && isSameName(attribute, user[attribute]!, name);
  if (!isNamed && present !== undefined) return false;
  const former = isNamed ? null : await manager.findOneBy(DirectoryFormerName, { provider, name: key });
  const directoryUserId = isNamed ? user.id : former?.directoryUserId;
  if (directoryUserId === undefined || directoryUserId === present) return false;
  await manager.upsert(DirectoryLink, { userId, directoryUserId }, ['userId']);
  return true;
}
