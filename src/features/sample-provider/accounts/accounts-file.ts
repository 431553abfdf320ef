import { readFileSync } from 'node:fs';
import {
  errorLine,
  InvalidSettings,
  quote,
  unreadable,
} from '../../../platform/config/settings/invalid-settings.js';
import type { SecretFile, Settings } from '../../../platform/config/settings/settings.js';
import type { Account } from './accounts.js';
import { parsePasswordHash } from '../passwords/password-hash.js';
import { decodeText } from '../../../platform/config/secrets/secret-files.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { isHttpUrl, isName } from '../../../provider/identity/identity.js';

interface FieldRule {
  readonly accepts: string;
  readonly isValid: (value: unknown) => boolean;
}

/** Roles of an account; larger claims would not fit into a token. */
const MOST_ROLES = 50;

const TEXT = { accepts: 'text of 1 to 255 characters, without NUL', isValid: isName };

// The bounds are the service's own for identities.
const FIELDS: Readonly<Record<keyof Account, FieldRule>> = {
  provider_user_id: TEXT,
  login: TEXT,
  password_hash: {
    accepts: 'scrypt$N$r$p$salt$hash, as npm run hash-password prints it (not shown, it is a secret)',
    isValid: (value) => typeof value === 'string' && parsePasswordHash(value) !== undefined,
  },
  username: TEXT,
  email: TEXT,
  avatar_url: { accepts: 'an http(s) URL of at most 2048 characters', isValid: isHttpUrl },
  roles: {
    accepts: `an array of at most ${MOST_ROLES} texts of 1 to 255 characters`,
    isValid: (value) => Array.isArray(value) && value.length <= MOST_ROLES && value.every(isName),
  },
};
const REQUIRED = ['provider_user_id', 'login', 'password_hash'];

/** Reads the accounts file before anything is started. @throws as `readAccountsFile` */
export function checkAccountsFile({ providers }: Pick<Settings, 'providers'>): void {
  for (const { accountsFile } of providers.values()) if (accountsFile) readAccountsFile(accountsFile);
}

/**
 * Reads the accounts file (docs/providers.md#accounts-of-the-sample-provider).
 * @throws InvalidSettings with a line for each error: entry (from 1) and field, never a value
 */
export function readAccountsFile({ path, variable }: SecretFile): Account[] {
  let content: string;
  try {
    content = decodeText(readFileSync(path));
  } catch (error) {
    const line = errorLine(variable, unreadable(error), 'a readable JSON file of accounts', quote(path));
    throw new InvalidSettings([line]);
  }
  return parseAccounts(content, variable);
}

/** @param variable for the errors @throws as `readAccountsFile` */
export function parseAccounts(json: string, variable: string): Account[] {
  let entries: unknown;
  try {
    entries = JSON.parse(json);
  } catch {
    // The parser's message quotes the text, with hashes.
    throw new InvalidSettings([`${variable}: the file is not JSON`]);
  }
  if (!Array.isArray(entries) || entries.length === 0) {
    throw new InvalidSettings([`${variable}: the file must hold a JSON array of at least one account`]);
  }
  const errors = [
    ...entries.flatMap((entry, index) => errorsOf(entry).map((error) => `entry ${index + 1}, ${error}`)),
    ...repeated(entries, 'provider_user_id'),
    ...repeated(entries, 'login'),
  ];
  if (errors.length > 0) throw new InvalidSettings(errors.map((error) => `${variable}: ${error}`));
  return entries as Account[]; // validated
}

function errorsOf(entry: unknown): string[] {
  if (!isObject(entry)) return ['which is not an object'];
  const fields = Object.keys(FIELDS);
  const isOther = (name: string): boolean => !fields.includes(name);
  return [
    ...(Object.keys(entry).some(isOther) ? [`which has fields other than ${fields.join(', ')}`] : []),
    ...Object.entries(FIELDS).flatMap(([name, { accepts, isValid }]) => {
      const value = entry[name];
      if (value === undefined) return REQUIRED.includes(name) ? [`${name}: is missing`] : [];
      return isValid(value) ? [] : [`${name}: accepted is ${accepts}`];
    }),
  ];
}

function repeated(entries: readonly unknown[], name: 'login' | 'provider_user_id'): string[] {
  const earlier = new Set<unknown>();
  return entries.flatMap((entry, index) => {
    const value = isObject(entry) ? entry[name] : undefined;
    if (earlier.has(value) && value !== undefined)
      return [`entry ${index + 1}, ${name}: an earlier entry has the same`];
    earlier.add(value);
    return [];
  });
}
