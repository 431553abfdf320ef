import { OAuthError } from '../../errors/oauth-error.js';

/**
 * The client's name for itself in `Authorization: Basic` (RFC 6749 §2.3.1). The password is not looked at: clients have no
 * secrets here (contract §4).
 *
 * @returns its spellings: as it was sent, since not every client encodes it, and decoded as a form. Undefined: there is none
 * @throws OAuthError `invalid_request` when the header cannot be read
 */
export function basicClientId(authorization: string | undefined): readonly string[] | undefined {
  if (authorization === undefined || !/^basic(?: |$)/i.test(authorization)) return undefined;
  const credentials = authorization.slice('basic'.length).trim();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(credentials)) throw malformed();
  const text = Buffer.from(credentials, 'base64').toString();
  const end = text.indexOf(':');
  if (end < 0) throw malformed();
  const sent = text.slice(0, end);
  return sent === '' ? undefined : [sent, decoded(sent)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

function malformed(): OAuthError {
  return new OAuthError('invalid_request', 'the Authorization header is malformed');
}
