import { claimMap, type ClaimMap } from '../../platform/config/providers/claim-map.js';
import { claimPaths, isClaimName } from '../../platform/config/providers/claim-paths.js';
import { printable } from '../../platform/errors/printable.js';
import { hasInexactNumber, isObject } from '../../platform/http/parameters/json.js';
import { fitClaims, type Cut } from '../../identity/claim-limits.js';
import { ELSEWHERE, type Claims } from './claims.js';
import { textsIn } from './lists.js';

interface Reason {
  readonly name: string;
  readonly why: string;
}

/** Claims of a user, and why others are not kept. */
export interface ValidClaims {
  readonly accepted: Claims;
  readonly dropped: readonly Reason[];
}

/** Claims of a provider (docs/guides/roles.md#limits). */
export interface SelectedClaims extends ValidClaims {
  /** Also the claims beyond the limits. */
  readonly whole: Claims;
  /** Claims of which a part was not understood. */
  readonly noted: readonly Reason[];
  /** Claims of which a part is beyond the limits. */
  readonly cuts: readonly Cut[];
}

/** Claims that RFC 9068 §2.2.3.1 defines as lists of texts. */
const LISTS: ReadonlySet<string> = new Set(['roles', 'groups', 'entitlements']);
/** Claims that OpenID Connect Core §5.1 defines as texts; the access token has them at its top level. */
const TEXTS: ReadonlySet<string> = new Set(['name', 'email', 'preferred_username']);

const MAX_NAMED = 10;

/** JSON in which PostgreSQL cannot store a text: NUL, or a lone surrogate, which JSON.stringify escapes. */
const UNSTORABLE = /(?:^|[^\\])(?:\\\\)*\\u(?:0000|d[89a-f]..)/;

/** Returns the settings `map_<claim>` of the kept claims. */
export function claimMaps(options: Readonly<Record<string, string>>): ReadonlyMap<string, ClaimMap> {
  const maps = claimPaths(options['claims']).flatMap(([name]) => {
    const text = options[`map_${name}`];
    return text === undefined ? [] : [[name, claimMap.parse(text)] as const];
  });
  return new Map(maps);
}

/** Reads a provider's claims: lists in any shape, names of `map_<claim>`, and what fits into the limits. */
export function selectClaims(
  claims: unknown,
  maps: ReadonlyMap<string, ClaimMap> = new Map(),
): SelectedClaims {
  const noted: Reason[] = [];
  const read = (name: string, value: unknown): unknown => {
    const map = maps.get(name);
    if (value === ELSEWHERE) {
      noted.push({ name, why: 'was not sent, only referred to by _claim_names: too much for a token' });
      return undefined;
    }
    if (value === null || value === undefined || (!map && !LISTS.has(name))) return value;
    const { texts, why } = textsIn(value);
    const isNamed = typeof value === 'string' && map?.names.has(value);
    if (why !== undefined && !isNamed) noted.push({ name, why });
    const named = [...new Set(map ? texts.flatMap((text) => nameIn(map, text)) : texts)];
    if (texts.length === 0 && !Array.isArray(value)) return undefined;
    return LISTS.has(name) || typeof value === 'object' ? named : named[0];
  };
  const { accepted, dropped } = validClaims(claims, read);
  const { claims: fitting, cuts } = fitClaims(accepted);
  return { accepted: fitting, whole: accepted, dropped, noted, cuts };
}

function nameIn({ names, keepsOthers }: ClaimMap, value: string): readonly string[] {
  return names.has(value) ? [names.get(value)!] : keepsOthers ? [value] : [];
}

/** Sorts claims by their rules. A single text is a list of one. @param read returns the value to keep */
export function validClaims(
  claims: unknown,
  read: (name: string, value: unknown) => unknown = unchanged,
): ValidClaims {
  if (claims === undefined || claims === null) return { accepted: {}, dropped: [] };
  if (!isObject(claims)) return { accepted: {}, dropped: [{ name: 'claims', why: 'is not an object' }] };
  const accepted = new Map<string, unknown>();
  const dropped: Reason[] = [];
  for (const [name, received] of Object.entries(claims)) {
    const value = read(name, received);
    if (value === undefined || value === null) continue;
    const json = stringify(value);
    const why = reasonAgainst(name, value, json);
    if (why === undefined) accepted.set(name, JSON.parse(json!));
    else dropped.push({ name, why });
  }
  return { accepted: Object.fromEntries(accepted), dropped };
}

function unchanged(name: string, value: unknown): unknown {
  return LISTS.has(name) && typeof value === 'string' ? [value] : value;
}

/** Describes dropped claims and claims to look at, for the log, without their values: a line each. */
export function describeClaims({ dropped, noted }: Pick<SelectedClaims, 'dropped' | 'noted'>): string[] {
  const lines = Object.entries({ 'dropped claims': dropped, 'claims to look at': noted });
  return lines
    .filter(([, reasons]) => reasons.length > 0)
    .map(([title, reasons]) => `${title}: ${list(reasons)}`);
}

function list(reasons: readonly Reason[]): string {
  const named = reasons
    .slice(0, MAX_NAMED)
    .map(({ name, why }) => `${printable(name, 64) || 'without a name'} (${why})`);
  const others = reasons.length > MAX_NAMED ? `, and ${reasons.length - MAX_NAMED} others` : '';
  return `${named.join(', ')}${others}`;
}

function reasonAgainst(name: string, value: unknown, json: string | undefined): string | undefined {
  if (!isClaimName(name)) return 'is a name of the token, or not of 1 to 64 visible characters';
  if (json === undefined) return 'is not JSON';
  if (UNSTORABLE.test(json)) return 'has a NUL or a lone surrogate';
  if (hasInexactNumber(value))
    return 'has a number beyond 2^53 - 1, which JSON readers round: send it as text';
  if (LISTS.has(name) && !isListOfTexts(JSON.parse(json))) return 'is not a list of texts';
  if (TEXTS.has(name) && !json.startsWith('"')) return 'is not a text';
  return undefined;
}

/** Values of an integrator's adapter may be anything: functions, big integers, circles. */
function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
