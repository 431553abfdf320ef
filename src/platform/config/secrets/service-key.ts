import { list, InvalidValue, type Parser } from '../settings/parsers.js';

/** What the holder of a service key may do (docs/production.md#service-keys). */
export type ServiceRight = 'push' | 'read' | 'support' | 'users';

const RIGHTS: readonly ServiceRight[] = ['push', 'read', 'support', 'users'];

/** Rights that a named right grants: `users` may do what `support` may. */
export const GRANTS: Readonly<Record<ServiceRight, readonly ServiceRight[]>> = {
  push: ['push'],
  read: ['read'],
  support: ['support'],
  users: ['support', 'users'],
};

export interface ServiceKey {
  /** Its name in the audit trail and the log. Default: the right and the position, `users-2`, or `all-1`. */
  readonly name: string;
  readonly key: string;
  readonly rights: readonly ServiceRight[];
}

// The key: RFC 6750 §2.1
const ENTRY = new RegExp(
  `^(?:([A-Za-z0-9][A-Za-z0-9._-]{0,62})=)?(?:(${RIGHTS.join('|')}):)?([A-Za-z0-9\\-._~+/]+=*)$`,
);
const SHORTEST = 32;

const entries = list(
  `[<name>=][<right>:]<key>: keys are bearer tokens (RFC 6750) of at least ${SHORTEST} characters, rights ${RIGHTS.join(', ')} (without one: all)`,
  (entry) => (ENTRY.exec(entry)?.[3] ?? '').length >= SHORTEST,
);

/** `<key>` has all rights, `<right>:<key>` one; each may have a name in front: `<name>=<right>:<key>`. */
export const serviceKeys: Parser<readonly ServiceKey[]> = {
  accepts: entries.accepts,
  parse: (value) => {
    const keys = entries.parse(value).map((entry, i) => {
      const [, name, right, key] = ENTRY.exec(entry)!;
      return {
        name: name ?? `${right ?? 'all'}-${i + 1}`,
        key: key!,
        rights: right === undefined ? RIGHTS : GRANTS[right as ServiceRight],
      };
    });
    for (const [i, { name, key }] of keys.entries()) {
      const other = keys.findIndex((one) => one.name === name && one.key !== key);
      if (other !== -1)
        throw new InvalidValue('', `has one name for different keys: entries ${i + 1} and ${other + 1}`);
    }
    return keys;
  },
};
