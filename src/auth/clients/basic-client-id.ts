import { OAuthError } from '../../errors/oauth-error.js';
import { percentDecoded, readBasic } from '../../http/basic-credentials.js';

/**
 * The client's name for itself in `Authorization: Basic` (RFC 6749 §2.3.1). The password is not looked at: clients have no
 * secrets here (contract §4).
 *
 * @returns its spellings: as it was sent, since not every client encodes it, and decoded as a form. Undefined: there is none
 * @throws OAuthError `invalid_request` when the header cannot be read
 */
export function basicClientId(authorization = ''): readonly string[] | undefined {
  if (!/^basic(?: |$)/i.test(authorization)) return undefined;
  const credentials = readBasic(authorization);
  if (!credentials) throw new OAuthError('invalid_request', 'the Authorization header is malformed');
  const { userName } = credentials;
  return userName === '' ? undefined : [userName, percentDecoded(userName.replaceAll('+', ' '))];
}
