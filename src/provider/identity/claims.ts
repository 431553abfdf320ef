import { claimPaths, splitAt, stepsOf, unescaped } from '../../platform/config/providers/claim-paths.js';
import { HOSTED_DOMAIN, TENANTS_DECIDE } from '../../platform/config/providers/presets.js';
import { isObject } from '../../platform/http/parameters/json.js';
import type { ProviderIdentity } from '../provider-adapter.js';

type Options = Readonly<Record<string, string>>;

/** Paths without `claim_*` settings: the standard claims of OpenID Connect Core §5.1. */
const DEFAULTS: Options = {
  claim_user_id: 'sub',
  claim_username: 'name,preferred_username',
  claim_email: 'email',
  claim_avatar_url: 'picture',
};

/** Of a template: a URL is percent-encoded, a name may lack parts, an id must stay unambiguous. */
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
      email_verified: isEmailVerified(claims, paths('claim_email'), options),
      hosted_domain: options[HOSTED_DOMAIN] === undefined ? undefined : hostedDomainIn(claims),
      claims: mappedClaims(claims, options),
    }).filter(([, value]) => value !== undefined),
  );
}

/** Value of a claim that the provider only names (OpenID Connect Core §5.6.2; Entra ID: over 200 groups). */
export const ELSEWHERE = Object.freeze({ elsewhere: true });

/** Returns the claims in the setting `claims`, without a doubtful e-mail address; undefined if unset. */
export function mappedClaims(claims: Claims, options: Options): Claims | undefined {
  const setting = options['claims'];
  if (setting === undefined) return undefined;
  const values = claimPaths(setting)
    .filter(
      ([name, path]) =>
        !(name === 'email' || path === 'email') || emailDoubt(claims, path, options) === undefined,
    )
    .map(([name, path, splits]) => {
      const value = valueAt(claims, path) ?? (isElsewhere(claims, path) ? ELSEWHERE : undefined);
      return [name, splits && typeof value === 'string' ? valuesIn(value) : value] as const;
    });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== null));
}

function isElsewhere({ _claim_names: names }: Claims, path: string): boolean {
  return isObject(names) && [unescaped(path), stepsOf(path)[0]!].some((name) => Object.hasOwn(names, name));
}

/** Returns the values in a text: a JSON list, or separated by commas, else semicolons, else spaces. */
function valuesIn(text: string): readonly unknown[] {
  const list = /^\s*\[([^]*)\]\s*$/.exec(text)?.[1];
  if (list !== undefined) {
    try {
      return JSON.parse(`[${list}]`) as unknown[];
    } catch {} // Amazon Cognito sends a list of another provider as `[a, b]`
  }
  const values = list ?? text;
  const separator = [',', ';'].find((one) => values.includes(one)) ?? /\s/;
  return values
    .split(separator)
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/** Returns the names of the claims that a `claim_*` setting, or its default, takes its value from. */
export function sourcesOf(claims: Claims, options: Options, option: string): readonly string[] {
  const paths = pathsOf(options[option] ?? DEFAULTS[option] ?? '');
  const hasValue = (path: string): boolean => (valueAt(claims, path) ?? null) !== null;
  const path = paths.find((one) => textOf(claims, one, 'text')) ?? paths.find(hasValue);
  if (path === undefined) return [];
  const parts = isTemplate(path)
    ? [...path.matchAll(/(?<!\\)\{([^}]*)\}/g)].map(([, part]) => part!)
    : [path];
  return Object.keys(claims).filter((name) => parts.some((part) => isPartOf(part, name)));
}

export function isPartOf(path: string, name: string): boolean {
  return unescaped(path) === name || stepsOf(path)[0] === name;
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

/**
 * Returns why an address is not proven; undefined if nothing says so. Checks the whole answer and the object
 * that contains the address (`emails.0.verified` beside `emails.0.value`).
 */
export function emailDoubt(claims: Claims, paths: string, options: Options): string | undefined {
  if ([claims, holderOf(claims, paths)].some(isUnverified)) return 'the provider calls it unverified';
  return mayBeOfAnyTenant(options) && !PROVEN.has(claims['xms_edov'])
    ? 'its tenant may set any address: the optional claim xms_edov is not true'
    : undefined;
}

/** Returns false for an address in doubt, true if the provider calls it verified, else undefined. */
function isEmailVerified(claims: Claims, paths: string, options: Options): boolean | undefined {
  if (emailDoubt(claims, paths, options) !== undefined) return false;
  const isOfOneTenant = options[TENANTS_DECIDE] !== undefined && options['tenants']?.split(',').length === 1;
  const isProven = isOfOneTenant || PROVEN.has(claims['xms_edov']);
  // `email_verified` is about `email`, not about an address of another name.
  const { email } = claims;
  const isOther = typeof email === 'string' && email !== addressIn(claims, paths);
  return isProven || [...(isOther ? [] : [claims]), holderOf(claims, paths)].some(isVerified) || undefined;
}

function addressIn(claims: Claims, paths: string): string | undefined {
  return pathsOf(paths)
    .map((path) => textOf(claims, path, 'text'))
    .find((text) => text);
}

function hostedDomainIn({ hd }: Claims): string | null {
  return typeof hd === 'string' ? hd : null;
}

/** Returns the object that contains the address (`emails.0` of `emails.0.value`). */
function holderOf(claims: Claims, paths: string): Claims {
  const path = pathsOf(paths).find((one) => textOf(claims, one, 'text'));
  const steps = path === undefined ? [] : stepsOf(path).slice(0, -1);
  const holder = steps.length === 0 ? {} : valueIn(claims, steps); // the claims themselves are read beside it
  return isObject(holder) ? holder : {};
}

/** Entra ID: a tenant sets addresses as it likes (nOAuth), unless it is the only one that may sign in. */
function mayBeOfAnyTenant({ tenants, [TENANTS_DECIDE]: decide }: Options): boolean {
  return (decide !== undefined || tenants !== undefined) && tenants?.split(',').length !== 1;
}

const PROVEN: ReadonlySet<unknown> = new Set([true, 1, '1', 'true']);

/** Returns the text at the first of several paths or templates (`claim_user_id`) that has a value. */
export function claimAt(claims: Claims, paths: string, kind: Kind): string | undefined {
  const all = pathsOf(paths);
  // The start refuses this for built-in adapters: a user without the first claim could choose the id.
  if (kind === 'id' && all.length > 1) throw new Error('claim_user_id has several paths');
  for (const path of all) {
    const text = textOf(claims, path, kind);
    if (text) return text;
  }
  return undefined;
}

function pathsOf(paths: string): readonly string[] {
  return splitAt(paths, ',').map((one) => one.trim());
}

function textOf(claims: Claims, path: string, kind: Kind): string | undefined {
  return isTemplate(path) ? filled(claims, path, kind) : textAt(claims, path);
}

function isTemplate(path: string): boolean {
  return splitAt(path, '{').length > 1;
}

function filled(claims: Claims, template: string, kind: Kind): string | undefined {
  // Texts of the template have even indexes, values odd ones.
  const parts = template
    .split(/(?<!\\)\{([^}]*)\}/)
    .map((part, i) => (i % 2 === 0 ? unescaped(part) : textAt(claims, part) || undefined));
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

/**
 * Whether the joined text could be that of other values: the text after a value must begin nowhere earlier.
 * `a:` and `b` of `{org}::{id}` make the text of `a` and `:b`.
 */
function isAmbiguous(texts: readonly string[]): boolean {
  return texts.slice(0, -2).some((text, i) => {
    const separator = texts[i + 1]!;
    return i % 2 === 1 && (separator === '' || (text + separator).indexOf(separator) !== text.length);
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
  const whole = unescaped(path);
  return Object.hasOwn(claims, whole) ? claims[whole] : valueIn(claims, stepsOf(path));
}

/** A name in a list means that of its members: `roles.name` of `[{"name": "a"}, {"name": "b"}]`. */
function valueIn(value: unknown, [step, ...others]: readonly string[]): unknown {
  if (step === undefined) return value;
  if (Array.isArray(value) && !/^\d+$/.test(step)) {
    const found = value.map((member) => valueIn(member, [step, ...others]) ?? null).flat();
    return found.some((member) => member !== null) ? found.filter((member) => member !== null) : undefined;
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return valueIn((value as Claims)[step], others);
}

export type Claims = Readonly<Record<string, unknown>>;

/** Whether an address is unverified: `email_verified` (OpenID Connect Core §5.1), `verified` (Discord). */
export function isUnverified(claims: Claims): boolean {
  return saysOfEmail(claims, 'false');
}

/** Whether claims call their e-mail address verified. */
export function isVerified(claims: Claims): boolean {
  return saysOfEmail(claims, 'true');
}

/** Amazon Cognito and Apple send texts. */
function saysOfEmail(claims: Claims, word: 'true' | 'false'): boolean {
  return [claims['email_verified'], claims['verified']].some(
    (value) =>
      String(value === true || value === false || typeof value === 'string' ? value : '').toLowerCase() ===
      word,
  );
}
