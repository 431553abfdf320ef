import { percentDecoded, readBasic } from '../http/basic-credentials.js';

/**
 * What may be meant by the password of an `Authorization: Basic` header: it as it was sent, and with its percent-encoding
 * undone. The user name is not looked at.
 * @returns undefined where the header holds no user name and password
 */
export function readBasicPasswords(header?: string): readonly string[] | undefined {
  const password = readBasic(header)?.password;
  return password === undefined ? undefined : [password, percentDecoded(password)];
}
