import { decodePercent, parser, InvalidValue, type Parser } from '../settings/parsers.js';
import { suggestionFor } from '../settings/invalid-settings.js';
import { addressKey, domainKey } from '../urls/email-address.js';
import { isClaimName } from './claim-paths.js';

/** One condition of the setting `allow` (docs/guides/access-policy.md#conditions). */
export type Condition =
  /** Its domain is a `domainKey`. */
  | { readonly kind: 'email_domain'; readonly domain: string; readonly isOfSubdomains: boolean }
  /** Its address is an `addressKey`. */
  | { readonly kind: 'email'; readonly address: string }
  | { readonly kind: 'user_id'; readonly id: string }
  /** Without a value, the claim must be present and not empty. */
  | { readonly kind: 'claim'; readonly name: string; readonly value?: string }
  /** Active in the directory of the provider. */
  | { readonly kind: 'directory' }
  | { readonly kind: 'everyone' };

/** Conditions that must hold together, and the text that states them. */
interface Alternative {
  readonly text: string;
  readonly conditions: readonly Condition[];
}

/** One of the alternatives must hold. */
export type AllowRule = readonly Alternative[];

/** Returns the rule as it is set; null without one. */
export function textOf(rule: AllowRule | undefined): string | null {
  return rule?.map(({ text }) => text).join(', ') ?? null;
}

const MOST_CONDITIONS = 200;

const KINDS = ['email_domain', 'email', 'user_id', 'claim', 'directory'];

export const DOMAIN = /^[^\s@.*]+(?:\.[^\s@.*]+)*$/;

export const allowRule: Parser<AllowRule> = parser(
  'conditions separated by commas (email_domain=corp.example, email=…, user_id=…, claim:<name>=<value>, claim:<name>, directory, or * for everyone), joined by & if they must hold together; a comma or & in a value is %2C or %26',
  (text) => {
    const alternatives = text.split(',').map((alternative) => ({
      text: alternative.trim(),
      conditions: alternative.split('&').map((condition) => parseCondition(condition.trim())),
    }));
    const count = alternatives.reduce((sum, { conditions }) => sum + conditions.length, 0);
    if (count > MOST_CONDITIONS) throw new InvalidValue(text, `has more than ${MOST_CONDITIONS} conditions`);
    return alternatives;
  },
);

function parseCondition(text: string): Condition {
  if (text === '*') return { kind: 'everyone' };
  if (text === 'directory') return { kind: 'directory' };
  if (text === '') throw new InvalidValue(text, 'has an empty condition');
  const [left, right] = splitOnce(text, '=');
  const value = right === undefined ? undefined : decode(right.trim(), text);
  const [kind, name] = splitOnce(left.trim(), ':');
  if (kind === 'claim' && name !== undefined) {
    const claim = decode(name, text);
    if (!isClaimName(claim)) throw new InvalidValue(text, 'names no claim of a user');
    return value === undefined ? { kind, name: claim } : { kind, name: claim, value };
  }
  if (name !== undefined || value === undefined || value === '') throw refuse(text, kind);
  switch (kind) {
    case 'email_domain': {
      const isOfSubdomains = value.startsWith('*.');
      const domain = domainKey(isOfSubdomains ? value.slice(2) : value);
      if (!DOMAIN.test(domain)) throw new InvalidValue(text, 'names no domain');
      return { kind, domain, isOfSubdomains };
    }
    case 'email':
      if (!/^[^@]+@[^@]+$/.test(value)) throw new InvalidValue(text, 'names no e-mail address');
      return { kind, address: addressKey(value) };
    case 'user_id':
      return { kind, id: value };
    default:
      throw refuse(text, kind);
  }
}

function refuse(text: string, kind: string): InvalidValue {
  const meant = kind === 'claim' ? kind : suggestionFor(kind, KINDS, 4);
  const form = meant === 'claim' ? 'claim:<name>=…' : `${meant}=…`;
  return new InvalidValue(text, meant ? `has an unknown condition (did you mean ${form}?)` : undefined);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string, condition: string): string {
  const decoded = decodePercent(text);
  if (decoded !== undefined) return decoded;
  throw new InvalidValue(condition, 'has a % that is not followed by two hexadecimal digits');
}
