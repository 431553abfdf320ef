/** The user's claims by their names, as the identity provider and the application have set them. */
export interface UserClaims {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly entitlements?: readonly string[];
  readonly name?: string;
  readonly email?: string;
  readonly preferred_username?: string;
  readonly [name: string]: unknown;
}

/** An access token has all others as members of `claims` (docs/guides/roles.md#in-the-token). */
const TOP_LEVEL = /^(roles|groups|entitlements|name|email|preferred_username)$/;

/** The members of an access token that the client reads. */
interface Payload {
  readonly sid?: string;
  readonly claims?: object;
}

/** Reads an access token, unverified; nothing from an unreadable one. */
export function readToken(token: string): Payload {
  try {
    const text = atob(token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/'));
    const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
    return Object(JSON.parse(new TextDecoder().decode(bytes))) as Payload;
  } catch {
    return {};
  }
}

/** Reads the user's claims of an access token; none from an unreadable one. */
export function readClaims(token: string): UserClaims {
  const payload = readToken(token);
  const top = Object.entries(payload).filter(([name]) => TOP_LEVEL.test(name));
  return { ...payload.claims, ...Object.fromEntries(top) };
}

/** Returns a text that is equal for equal claims, in whatever order: the database reorders nested names, too. */
export function textOfClaims(claims: object): string {
  return JSON.stringify(claims, (_name, value: object) =>
    Object(value) === value && !Array.isArray(value)
      ? // oxlint-disable-next-line unicorn/no-array-sort -- browsers without toSorted()
        Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
