import { readFileSync } from 'node:fs';
import { InvalidSettings, unreadable } from '../../config/settings/invalid-settings.js';
import type { AccountsFile, Settings } from '../../config/settings/settings.js';
import type { Account } from './accounts.js';
import { parsePasswordHash } from '../passwords/password-hash.js';
import { decodeText } from '../../config/secrets/secret-files.js';
import { parseUrl } from '../../config/urls/urls.js';

interface FieldRule {
  readonly required: boolean;
  readonly accepts: string;
  readonly isValid: (value: string) => boolean;
}

// The bounds of spec §2.5's fields are those that the service itself holds a provider to (contract §6).
const FIELDS: Readonly<Record<keyof Account, FieldRule>> = {
  provider_user_id: { required: true, ...text(255) },
  login: { required: true, ...text(255) },
  password_hash: {
    required: true,
    accepts: 'scrypt$N$r$p$salt$hash, as npm run hash-password prints it (not shown, it is a secret)',
    isValid: (value) => parsePasswordHash(value) !== undefined,
  },
  username: { required: false, ...text(255) },
  email: { required: false, ...text(255) },
  avatar_url: {
    required: false,
    accepts: 'an http(s) URL of at most 2048 characters',
    isValid: (value) => value.length <= 2048 && /^https?:\/\//i.test(value) && parseUrl(value) !== undefined,
  },
};

/** Checks that the accounts file can be read, before anything is started (contract §2); throws like `readAccountsFile`. */
export function checkAccountsFile({ sampleProvider }: Pick<Settings, 'sampleProvider'>): void {
  if (sampleProvider?.accountsFile) readAccountsFile(sampleProvider.accountsFile);
}

/**
 * Reads the accounts file (contract §2).
 *
 * @throws InvalidSettings with one line for each fault, naming entry (from 1) and field, and never a value.
 */
export function readAccountsFile({ path, variable }: AccountsFile): Account[] {
  let content: string;
  try {
    content = decodeText(readFileSync(path));
  } catch (error) {
    const was = unreadable(path, error);
    throw new InvalidSettings([`${variable}: ${was}; accepted: a readable JSON file of accounts`]);
  }
  return parseAccounts(content, variable);
}

/** The accounts in a JSON text; throws like `readAccountsFile`. @param variable named in faults */
export function parseAccounts(json: string, variable: string): Account[] {
  const entries = parseJson(json);
  if (entries === undefined) throw new InvalidSettings([`${variable}: the file is not JSON`]);
  if (!isList(entries) || entries.length === 0) {
    throw new InvalidSettings([`${variable}: the file must hold a JSON array of at least one account`]);
  }
  const faults = [
    ...entries.flatMap((entry, index) => faultsOf(entry).map((fault) => `entry ${index + 1}, ${fault}`)),
    ...repeated(entries, 'provider_user_id'),
    ...repeated(entries, 'login'),
  ];
  if (faults.length > 0) throw new InvalidSettings(faults.map((fault) => `${variable}: ${fault}`));
  return entries as Account[]; // none has a fault
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // the parser's own message quotes the text, hashes and all
  }
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function faultsOf(entry: unknown): string[] {
  if (!isObject(entry)) return ['which is not an object'];
  const fields = Object.keys(FIELDS);
  const isOther = (name: string): boolean => !fields.includes(name);
  return [
    ...(Object.keys(entry).some(isOther) ? [`which has fields other than ${fields.join(', ')}`] : []),
    ...Object.entries(FIELDS).flatMap(([name, { required, accepts, isValid }]) => {
      const value = entry[name];
      if (value === undefined) return required ? [`${name}: is missing`] : [];
      return typeof value === 'string' && isValid(value) ? [] : [`${name}: accepted is ${accepts}`];
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

function text(max: number): Pick<FieldRule, 'accepts' | 'isValid'> {
  return {
    accepts: `text of 1 to ${max} characters, without NUL`,
    isValid: (value) => value !== '' && value.length <= max && !value.includes('\0') && value.isWellFormed(),
  };
}
