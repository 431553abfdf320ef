// RFC 7617 §2
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * What may be meant by the password of an `Authorization: Basic` header: it as it was sent and, since OAuth clients encode both
 * parts (RFC 6749 §2.3.1) and others do not, with its percent-encoding undone. The user name is not looked at.
 * @returns undefined where the header holds no user name and password
 */
export function readBasicPasswords(header = ''): readonly string[] | undefined {
  const credentials = Buffer.from(BASIC.exec(header)?.[1] ?? '', 'base64').toString();
  const colon = credentials.indexOf(':');
  if (colon === -1) return undefined;
  const password = credentials.slice(colon + 1);
  return [password, decoded(password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % was sent
  }
}
