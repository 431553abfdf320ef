import { callsUnverified } from './identity.js';
import type { ProviderIdentity } from '../provider-adapter.js';

type Claims = Readonly<Record<string, unknown>>;
type Options = Readonly<Record<string, string>>;

/** Where the fields of spec §2.5 are found unless `claim_*` says otherwise: the standard claims of OpenID Connect Core §5.1. */
const DEFAULTS: Options = {
  claim_user_id: 'sub',
  claim_username: 'preferred_username,name',
  claim_email: 'email',
  claim_avatar_url: 'picture',
};

/** What a template makes: only a URL is percent-encoded; only a name may lack parts, which are left out; an id stays unambiguous. */
type Kind = 'id' | 'name' | 'text' | 'url';

/** The identity in some claims, without the fields that they lack. `parseIdentity` judges it, as every adapter's. */
export function identityOf(claims: Claims, options: Options): Partial<ProviderIdentity> {
  const paths = (option: string): string => options[option] ?? DEFAULTS[option] ?? '';
  const at = (option: string, kind: Kind): string | undefined => claimAt(claims, paths(option), kind);
  return Object.fromEntries(
    Object.entries({
      provider_user_id: at('claim_user_id', 'id'),
      username: at('claim_username', 'name'),
      email: at('claim_email', 'text'),
      avatar_url: at('claim_avatar_url', 'url'),
      email_verified: isUnverified(claims, paths('claim_email')) ? false : undefined,
    }).filter(([, value]) => value !== undefined),
  );
}

/** Whether claims have all four fields, and a name with all its parts. */
export function isComplete(claims: Claims, options: Options): boolean {
  return Object.entries(DEFAULTS).every(([option, usual]) =>
    claimAt(claims, options[option] ?? usual, 'text'),
  );
}

/** Looks in the whole answer and in the object that holds the address (`emails.0.verified` beside `emails.0.value`). */
function isUnverified(claims: Claims, paths: string): boolean {
  const path = pathsOf(paths).find((one) => textOf(claims, one, 'text')) ?? '';
  const holder = valueAt(claims, path.slice(0, Math.max(path.lastIndexOf('.'), 0)));
  return callsUnverified(claims) || (isObject(holder) && callsUnverified(holder));
}

/**
 * The text at a path, or `undefined`.
 *
 * @param paths dotted (`user.id`, `emails.0.value`); or a template, `https://img.example/{id}/{hash}.png`; or several of
 *   both, separated by commas: the first that is there counts
 */
export function claimAt(claims: Claims, paths: string, kind: Kind): string | undefined {
  for (const path of pathsOf(paths)) {
    const text = textOf(claims, path, kind);
    if (text) return text;
  }
  return undefined;
}

function pathsOf(paths: string): readonly string[] {
  return paths.split(',').map((one) => one.trim());
}

function textOf(claims: Claims, path: string, kind: Kind): string | undefined {
  return path.includes('{') ? filled(claims, path, kind) : textAt(claims, path);
}

function filled(claims: Claims, template: string, kind: Kind): string | undefined {
  // Texts of the template at even places, paths at odd ones.
  const parts = template.split(/\{([^}]*)\}/);
  const values = parts.map((part, i) => (i % 2 === 0 ? undefined : textAt(claims, part) || undefined));
  const isThere = (_part: string, i: number): boolean => i % 2 === 0 || values[i] !== undefined;
  if (kind === 'name') {
    const text = parts.map((part, i) => (i % 2 === 0 ? part : (values[i] ?? ''))).join('');
    return values.some(Boolean) ? text.replace(/\s+/g, ' ').trim() : undefined;
  }
  if (!parts.every(isThere)) return undefined;
  // `{tenant}:{id}` with a colon in the tenant could be the id of another user.
  const isAmbiguous = (value = '', i: number): boolean =>
    Boolean(parts[i + 1]) && value.includes(parts[i + 1]!);
  if (kind === 'id' && values.slice(0, -2).some(isAmbiguous)) return undefined;
  // A URL may begin with the whole of a claim.
  const encoded = (value: string, i: number): string =>
    kind === 'url' && (i > 1 || parts[0] !== '') ? encodeURIComponent(value.toWellFormed()) : value;
  return parts.map((part, i) => (i % 2 === 0 ? part : encoded(values[i]!, i))).join('');
}

/** Numbers too, but only those that JSON.parse did not round: two users must never get one id. */
function textAt(claims: Claims, path: string): string | undefined {
  const value = valueAt(claims, path);
  return typeof value === 'string' ? value : Number.isSafeInteger(value) ? String(value) : undefined;
}

/** A claim may have dots in its own name (`https://app.example/id`), so the whole path is tried first. */
function valueAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const key of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null;
}
