import type { ScimSettings } from '../scim.settings.js';
import type { DirectoryUser } from './directory-user.entity.js';

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
