// RFC 7617 §2
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

export interface BasicCredentials {
  readonly userName: string;
  readonly password: string;
}

/** What an `Authorization: Basic` header holds, as it was sent. @returns undefined where that is no user name and password */
export function readBasic(header = ''): BasicCredentials | undefined {
  const credentials = Buffer.from(BASIC.exec(header)?.[1] ?? '', 'base64').toString();
  const colon = credentials.indexOf(':');
  if (colon === -1) return undefined;
  return { userName: credentials.slice(0, colon), password: credentials.slice(colon + 1) };
}

/** OAuth clients encode both parts (RFC 6749 §2.3.1), and others do not. @returns a text with a stray % as it is */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
