import { list, type Parser } from '../settings/parsers.js';

/** What the holder of a service key may do (contract §2, SERVICE_KEYS). */
export type ServiceRight = 'push' | 'read' | 'users';

const RIGHTS: readonly ServiceRight[] = ['push', 'read', 'users'];

export interface ServiceKey {
  readonly key: string;
  readonly rights: readonly ServiceRight[];
}

const ENTRY = new RegExp(`^(?:(${RIGHTS.join('|')}):)?([A-Za-z0-9\\-._~+/]+=*)$`); // RFC 6750 §2.1
const SHORTEST = 32;

const entries = list(
  `bearer tokens (RFC 6750) of at least ${SHORTEST} characters, each alone (all rights) or behind ${RIGHTS.map((right) => `${right}:`).join(', ')}`,
  (entry) => (ENTRY.exec(entry)?.[2] ?? '').length >= SHORTEST,
);

/** `<key>` has all rights, `<right>:<key>` one. */
export const serviceKeys: Parser<readonly ServiceKey[]> = {
  accepts: entries.accepts,
  parse: (value) =>
    entries.parse(value).map((entry) => {
      const [, right, key] = ENTRY.exec(entry)!;
      return { key: key!, rights: RIGHTS.filter((each) => right === undefined || each === right) };
    }),
};
