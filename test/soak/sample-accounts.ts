import { randomBytes, scryptSync } from 'node:crypto';

/** How many accounts the sample provider has. */
export const SAMPLE_ACCOUNTS = 10;
export const PASSWORD = 'the password of each of them';

const [N, r, p] = [2, 1, 1];

export function loginOf(account: number): string {
  return `sample-${account}`;
}

/**
 * The accounts file (contract §2). Its hashes cost next to nothing: what one with real costs takes is the same at each sign-in, and
 * no part of what could grow.
 */
export function accountsFile(): string {
  const salt = randomBytes(16);
  const hash = scryptSync(PASSWORD, salt, 32, { N, r, p });
  const text = ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
  const accounts = Array.from({ length: SAMPLE_ACCOUNTS }, (_, account) => ({
    provider_user_id: loginOf(account),
    login: loginOf(account),
    password_hash: text,
  }));
  return JSON.stringify(accounts);
}
