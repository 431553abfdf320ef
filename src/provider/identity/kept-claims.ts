import { isClaimName } from '../../config/providers/claim-paths.js';

export type Claims = Readonly<Record<string, unknown>>;

/** Claims of a user, and why the others are not kept (contract §5). */
export interface KeptClaims {
  readonly kept: Claims;
  readonly dropped: readonly { readonly name: string; readonly why: string }[];
}

/** Limits of a user's claims from one source: names, and bytes of JSON in all (contract §5). */
const MAX_CLAIMS = 100;
const MAX_CLAIMS_BYTES = 4096;

/** Claims that RFC 9068 §2.2.3.1 defines as lists of texts. */
const LISTS: ReadonlySet<string> = new Set(['roles', 'groups', 'entitlements']);
/** Claims that OpenID Connect Core §5.1 defines as texts; the access token has them at its top level. */
const TEXTS: ReadonlySet<string> = new Set(['name', 'email', 'preferred_username']);

/** Dropped claims that one warning names. */
const MAX_NAMED = 10;

/** JSON in which PostgreSQL cannot store a text: NUL, or a lone surrogate, which JSON.stringify escapes. */
const UNSTORABLE = /(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f]..)/;

/**
 * Sorts the claims that an adapter returned by the limits of contract §5. A claim beyond them is dropped, so that a user has fewer
 * rights, never more. `check-provider` prints the result.
 */
export function keepClaims(claims: unknown): KeptClaims {
  if (claims === undefined || claims === null) return { kept: {}, dropped: [] };
  if (typeof claims !== 'object' || Array.isArray(claims)) {
    return { kept: {}, dropped: [{ name: 'claims', why: 'is not an object' }] };
  }
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
