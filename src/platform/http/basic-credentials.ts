// RFC 7617 §2
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/** Reads `Authorization: Basic`, without decoding percent signs. @returns undefined without credentials */
export function readBasic(header = ''): { userName: string; password: string } | undefined {
  const credentials = Buffer.from(BASIC.exec(header)?.[1] ?? '', 'base64').toString();
  const colon = credentials.indexOf(':');
  if (colon === -1) return undefined;
  return { userName: credentials.slice(0, colon), password: credentials.slice(colon + 1) };
}

/** Decodes a part as OAuth clients encode it (RFC 6749 §2.3.1); a text with a stray % stays as it is. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
