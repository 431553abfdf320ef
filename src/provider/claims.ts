import { callsUnverified } from './identity.js';
import type { ProviderIdentity } from './provider-adapter.js';

type Claims = Readonly<Record<string, unknown>>;
type Options = Readonly<Record<string, string>>;

/** Where the fields of spec §2.5 are found unless `claim_*` says otherwise: the standard claims of OpenID Connect Core §5.1. */
const DEFAULTS: Options = {
  claim_user_id: 'sub',
  claim_username: 'preferred_username,name',
  claim_email: 'email',
  claim_avatar_url: 'picture',
};

/** The identity in some claims, without the fields that they lack. `parseIdentity` judges it, as every adapter's. */
export function identityOf(claims: Claims, options: Options): Partial<ProviderIdentity> {
  const paths = (option: string): string => options[option] ?? DEFAULTS[option] ?? '';
  const at = (option: string): string | undefined => claimAt(claims, paths(option));
  return Object.fromEntries(
    Object.entries({
      provider_user_id: at('claim_user_id'),
      username: at('claim_username'),
      email: at('claim_email'),
      avatar_url: at('claim_avatar_url'),
      email_verified: isUnverified(claims, paths('claim_email')) ? false : undefined,
    }).filter(([, value]) => value !== undefined),
  );
}

/** Whether an identity has all four fields. */
export function isComplete(identity: Partial<ProviderIdentity>): boolean {
  return ['provider_user_id', 'username', 'email', 'avatar_url'].every((field) => field in identity);
}

/** Looks in the whole answer and in the object that holds the address (`emails.0.verified` beside `emails.0.value`). */
function isUnverified(claims: Claims, paths: string): boolean {
  const path = pathsOf(paths).find((one) => textOf(claims, one)) ?? '';
  const holder = valueAt(claims, path.slice(0, Math.max(path.lastIndexOf('.'), 0)));
  return callsUnverified(claims) || (isObject(holder) && callsUnverified(holder));
}

/**
 * The text at a path, or `undefined`.
 *
 * @param paths dotted (`user.id`, `emails.0.value`); or a template, `https://img.example/{id}/{hash}.png`, whose
 *   every path must be there; or several of both, separated by commas: the first that is there counts
 */
export function claimAt(claims: Claims, paths: string): string | undefined {
  for (const path of pathsOf(paths)) {
    const text = textOf(claims, path);
    if (text) return text;
  }
  return undefined;
}

function pathsOf(paths: string): readonly string[] {
  return paths.split(',').map((one) => one.trim());
}

function textOf(claims: Claims, path: string): string | undefined {
  return path.includes('{') ? filled(claims, path) : textAt(claims, path);
}

function filled(claims: Claims, template: string): string | undefined {
  let complete = true;
  const text = template.replace(/\{([^}]*)\}/g, (_all, path: string) => {
    const value = textAt(claims, path);
    complete &&= value !== undefined;
    return encodeURIComponent(value ?? '');
  });
  return complete ? text : undefined;
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
