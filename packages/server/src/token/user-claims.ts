/** The user's claims, as an access token carries them (RFC 9068 §2.2.3). */
export interface UserClaims {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly entitlements?: readonly string[];
  readonly name?: string;
  readonly email?: string;
  readonly preferred_username?: string;
  /** All other claims, by their names. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

const isText = (value: unknown): boolean => typeof value === 'string';
// A text has `includes`, too: 'administrator'.includes('admin').
const isList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const TOP_LEVEL: Readonly<Record<Exclude<keyof UserClaims, 'claims'>, (value: unknown) => boolean>> = {
  roles: isList,
  groups: isList,
  entitlements: isList,
  name: isText,
  email: isText,
  preferred_username: isText,
};
const MEMBERS = [...Object.entries(TOP_LEVEL), ['claims', isObject] as const];

/**
 * Replaces the user's claims of a token. Claims of a wrong type are left out: fewer rights, never more.
 * @param source has claims as a token carries them: a token, an answer to introspection, `asInToken()`
 */
export function withUserClaims<Token extends UserClaims>(token: Token, source: object): Token {
  const current = { ...token } as Record<string, unknown>;
  const replacing = source as Record<string, unknown>;
  for (const [name, isValid] of MEMBERS) {
    if (isValid(replacing[name])) current[name] = replacing[name];
    else if (current[name] !== undefined) delete current[name];
  }
  return current as Token;
}

/** Whether a token carries any of the user's claims. */
export const carriesClaims = (token: UserClaims): boolean =>
  MEMBERS.some(([name]) => (token as Record<string, unknown>)[name] !== undefined);

/** Arranges claims as a token carries them. @param flat all claims by their names, as the feed has them */
export function asInToken(flat: Readonly<Record<string, unknown>>): object {
  const isAtTop = ([name]: [string, unknown]): boolean => Object.hasOwn(TOP_LEVEL, name);
  const entries = Object.entries(flat);
  const others = entries.filter((entry) => !isAtTop(entry));
  // By fromEntries: an assignment to `__proto__` would replace the prototype.
  return {
    ...Object.fromEntries(entries.filter(isAtTop)),
    ...(others.length > 0 && { claims: Object.fromEntries(others) }),
  };
}

/** Returns a claim by its name, wherever the token carries it. Never an inherited member, such as `constructor`. */
export function claimOf(claims: UserClaims, name: string): unknown {
  const holder: unknown = Object.hasOwn(TOP_LEVEL, name) ? claims : claims.claims;
  return isObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
}

/** Whether it is an object as JSON has them. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
