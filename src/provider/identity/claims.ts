import { isClaimName, claimPaths } from '../../config/providers/claim-paths.js';
import type { ProviderIdentity } from '../provider-adapter.js';

type Options = Readonly<Record<string, string>>;

/** Paths without `claim_*` settings: the standard claims of OpenID Connect Core §5.1. */
const DEFAULTS: Options = {
  claim_user_id: 'sub',
  claim_username: 'name,preferred_username',
  claim_email: 'email',
  claim_avatar_url: 'picture',
};

/** Kind of a field with a template: a URL is percent-encoded, a name may lack parts, an id must stay unambiguous. */
type Kind = 'id' | 'name' | 'text' | 'url';

/** Returns the identity in some claims, without the absent fields. `parseIdentity` validates it. */
export function identityOf(claims: Claims, options: Options): Partial<ProviderIdentity> {
  const paths = (option: string): string => options[option] ?? DEFAULTS[option] ?? '';
  const at = (option: string, kind: Kind): string | undefined => claimAt(claims, paths(option), kind);
  return Object.fromEntries(
    Object.entries({
      provider_user_id: at('claim_user_id', 'id'),
      username: at('claim_username', 'name'),
      email: at('claim_email', 'text'),
      avatar_url: at('claim_avatar_url', 'url'),
      email_verified: isEmailUnverified(claims, paths('claim_email')) ? false : undefined,
      claims: mappedClaims(claims, options),
    }).filter(([, value]) => value !== undefined),
  );
}

/** Returns the claims that the setting `claims` names; undefined without the setting. An unverified e-mail address is left out. */
export function mappedClaims(claims: Claims, { claims: setting }: Options): Claims | undefined {
  if (setting === undefined) return undefined;
  const values = claimPaths(setting)
    .filter(([name, path]) => !(name === 'email' || path === 'email') || !isEmailUnverified(claims, path))
    .map(([name, path]) => [name, valueAt(claims, path)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== null));
}

/** Returns the names of the claims that a `claim_*` setting, or its default, takes its value from. */
export function sourcesOf(claims: Claims, options: Options, option: string): readonly string[] {
  const paths = pathsOf(options[option] ?? DEFAULTS[option] ?? '');
  const hasValue = (path: string): boolean => (valueAt(claims, path) ?? null) !== null;
  const path = paths.find((one) => textOf(claims, one, 'text')) ?? paths.find(hasValue);
  if (path === undefined) return [];
  const parts = path.includes('{') ? [...path.matchAll(/\{([^}]*)\}/g)].map(([, part]) => part!) : [path];
  return Object.keys(claims).filter((name) => parts.some((part) => isPartOf(part, name)));
}

export function isPartOf(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`);
}

/** Whether claims have all four fields, a name with all its parts, and every claim of the settings. */
export function isComplete(claims: Claims, options: Options): boolean {
  // A preset leaves a field out with an empty path.
  const paths = Object.entries(DEFAULTS).map(([option, usual]) => options[option] ?? usual);
  return (
    paths.every((path) => path === '' || claimAt(claims, path, 'text')) &&
    claimPaths(options['claims']).every(([, path]) => (valueAt(claims, path) ?? null) !== null)
  );
}

/** Checks the whole answer and the object that contains the address (`emails.0.verified` beside `emails.0.value`). */
function isEmailUnverified(claims: Claims, paths: string): boolean {
  const path = pathsOf(paths).find((one) => textOf(claims, one, 'text')) ?? '';
  const holder = valueAt(claims, path.slice(0, Math.max(path.lastIndexOf('.'), 0)));
  return isUnverified(claims) || (isObject(holder) && isUnverified(holder));
}

/**
 * Returns the text at the first of several paths or templates (docs/providers.md#openid-connect) that has a
 * value.
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
  // Texts of the template have even indexes, values odd ones.
  const parts = template
    .split(/\{([^}]*)\}/)
    .map((part, i) => (i % 2 === 0 ? part : textAt(claims, part) || undefined));
  if (kind === 'name') {
    const hasValue = parts.some((part, i) => i % 2 === 1 && part !== undefined);
    return hasValue ? parts.join('').replace(/\s+/g, ' ').trim() : undefined;
  }
  const texts = parts.filter((part) => part !== undefined);
  if (texts.length < parts.length) return undefined;
  if (kind === 'id' && isAmbiguous(texts)) return undefined;
  // A claim at the beginning of a URL may be its origin.
  const isEncoded = (i: number): boolean => kind === 'url' && i % 2 === 1 && (i > 1 || texts[0] !== '');
  return texts.map((text, i) => (isEncoded(i) ? encodeURIComponent(text.toWellFormed()) : text)).join('');
}

/** Whether a value contains the text that follows it: `{tenant}:{id}` could be the id of another user. */
function isAmbiguous(texts: readonly string[]): boolean {
  return texts.slice(0, -2).some((text, i) => {
    const separator = texts[i + 1];
    return i % 2 === 1 && separator !== '' && text.includes(separator!);
  });
}

/** Numbers only as far as JSON.parse does not round them: two users must not get one id. */
function textAt(claims: Claims, path: string): string | undefined {
  const value = valueAt(claims, path);
  if (typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

/** Tries the whole path first: a claim's own name may have dots (`https://app.example/id`). */
function valueAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Claims)[key];
  }
  return value;
}

export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type Claims = Readonly<Record<string, unknown>>;

/** Claims of a user, and why the others are not kept. */
export interface KeptClaims {
  readonly kept: Claims;
  readonly dropped: readonly { readonly name: string; readonly why: string }[];
}

/**
 * Limits of a user's claims from one source: names, and bytes of JSON in all
 * (docs/guides/roles.md#from-your-application).
 */
const MAX_CLAIMS = 100;
const MAX_CLAIMS_BYTES = 4096;

/** Claims that RFC 9068 §2.2.3.1 defines as lists of texts. */
const LISTS: ReadonlySet<string> = new Set(['roles', 'groups', 'entitlements']);
/** Claims that OpenID Connect Core §5.1 defines as texts; the access token has them at its top level. */
const TEXTS: ReadonlySet<string> = new Set(['name', 'email', 'preferred_username']);

const MAX_NAMED = 10;

/** JSON in which PostgreSQL cannot store a text: NUL, or a lone surrogate, which JSON.stringify escapes. */
const UNSTORABLE = /(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f]..)/;

/** Sorts an adapter's claims by their limits. A claim beyond them is dropped: fewer rights, never more. */
export function keepClaims(claims: unknown): KeptClaims {
  if (claims === undefined || claims === null) return { kept: {}, dropped: [] };
  if (!isObject(claims)) return { kept: {}, dropped: [{ name: 'claims', why: 'is not an object' }] };
  const kept = new Map<string, unknown>();
  const dropped: { name: string; why: string }[] = [];
  let bytes = 1; // the braces, without the comma of the first claim
  for (const [name, value] of Object.entries(claims)) {
    const json = jsonOf(LISTS.has(name) && typeof value === 'string' ? [value] : value);
    if (value === undefined || json === 'null') continue; // 1e999, too
    const size = Buffer.byteLength(`,${JSON.stringify(name)}:${json}`);
    const why = reasonAgainst(name, json) ?? excess(kept.size + 1, bytes + size);
    if (why === undefined) {
      kept.set(name, JSON.parse(json!));
      bytes += size;
    } else dropped.push({ name, why });
  }
  return { kept: Object.fromEntries(kept), dropped };
}

/** Describes dropped claims for the log, without their values. @returns undefined for none */
export function droppedClaims({ dropped }: KeptClaims): string | undefined {
  if (dropped.length === 0) return undefined;
  const named = dropped.slice(0, MAX_NAMED).map(({ name, why }) => `${printable(name)} (${why})`);
  const others = dropped.length > MAX_NAMED ? `, and ${dropped.length - MAX_NAMED} others` : '';
  return `dropped claims: ${named.join(', ')}${others}`;
}

function reasonAgainst(name: string, json: string | undefined): string | undefined {
  if (!isClaimName(name)) return 'is a name of the token, or not of 1 to 64 visible characters';
  if (json === undefined) return 'is not JSON';
  if (UNSTORABLE.test(json)) return 'has a NUL or a lone surrogate';
  if (LISTS.has(name) && !isListOfTexts(JSON.parse(json))) return 'is not a list of texts';
  if (TEXTS.has(name) && !json.startsWith('"')) return 'is not a text';
  return undefined;
}

function excess(names: number, bytes: number): string | undefined {
  if (names > MAX_CLAIMS) return `is beyond ${MAX_CLAIMS} claims`;
  return bytes > MAX_CLAIMS_BYTES ? `is beyond ${MAX_CLAIMS_BYTES} bytes in all` : undefined;
}

/** Values of an integrator's adapter may be anything: functions, big integers, circles. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function printable(name: string): string {
  return name.slice(0, 64).replaceAll(/\p{C}/gu, '?') || 'without a name';
}

/** Whether claims call their e-mail address unverified: `email_verified` (OpenID Connect Core §5.1), `verified` (Discord). */
export function isUnverified(claims: Readonly<Record<string, unknown>>): boolean {
  return [claims['email_verified'], claims['verified']].some(
    (value) => value === false || (typeof value === 'string' && value.toLowerCase() === 'false'),
  );
}
