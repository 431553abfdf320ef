import { Disturbances } from '../histories/disturbances.js';
import { addTo } from '../histories/groups.js';
import type { ClaimsCall, HistoryEntry, Receive } from '../histories/operation.js';

/**
 * Milliseconds after the answer of a change (docs/guides/roles.md#a-change-is-live): in calm, and if network
 * or database stall.
 */
const CALM_MS = 1000;
const STALL_MS = 3000;
export const PLACES = ['API 1', 'API 2', 'refresh', '/me', 'introspection'] as const;

type Claims = Readonly<Record<string, unknown>>;
export type Place = (typeof PLACES)[number];
type Seen = (ClaimsCall | Receive) & { readonly place: string; readonly n: number | undefined };
/** `acknowledged` is Infinity without an answer: then the change may count at any later time. */
type Change = Readonly<Record<'n' | 'begun' | 'acknowledged', number>>;

/** Claims of the change `n`: lists and other names, at the top of a token and below, not the same names each time. */
export function claimsWith(n: number): Claims {
  const roles = [`role-${n}`, ...(n % 2 === 0 ? ['admin'] : [])];
  return n === 0 ? {} : { roles, n, plan: `plan-${n}`, ...(n % 3 === 0 && { seats: n }) };
}

/** Arranges claims of a token or an answer by their names. `isAdmin`: an API's `requireRole('admin')`. */
export function flat({ roles, claims, isAdmin }: Claims): Claims {
  return {
    ...(roles ? { roles } : {}),
    ...(claims as object),
    ...(isAdmin === undefined ? {} : { isAdmin }),
  };
}

/** @returns the number of the change that claims are of, 0 without claims; undefined if they are a mixture */
function changeOf({ isAdmin, ...claims }: Claims): number | undefined {
  const { n = 0, roles = [] } = claims as { n?: number; roles?: string[] };
  const agrees = isAdmin === undefined || isAdmin === roles.includes('admin');
  return agrees && sorted(claims) === sorted(claimsWith(n)) ? n : undefined;
}
const sorted = (claims: Claims): string =>
  JSON.stringify(Object.entries(claims).toSorted(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Finds violations in the history of a run (docs/guides/roles.md#a-change-is-live).
 * @returns violations by rule and place; and by place the milliseconds from the answer of each change until the first look there that
 *   showed it, with no older claims since: if nothing was disturbed, and in stalls
 */
export function check(entries: readonly HistoryEntry[]) {
  const disturbances = new Disturbances(entries);
  const violations: { readonly rule: string; readonly entry: object }[] = [];
  const delays = new Map(
    [...PLACES, 'socket'].map((place) => [place, { calm: [] as number[], stalls: [] as number[] }]),
  );
  const changed = new Map<string, Change[]>();
  const seenBy = new Map<string, Seen[]>();
  const isUnexplained = (call: ClaimsCall): boolean =>
    call.outcome === 'refused' ||
    (call.outcome === 'unknown' && !call.retryAfter && !disturbances.overlap(call, STALL_MS));
  for (const entry of entries) {
    if (entry.kind !== 'claims' && entry.kind !== 'receive') continue;
    const place = entry.kind === 'receive' ? 'socket' : entry.at;
    if (entry.kind === 'claims' && isUnexplained(entry))
      violations.push({ rule: `no answer at ${place}`, entry });
    if (entry.kind === 'claims' && place === 'PUT') {
      const acknowledged = entry.outcome === 'ok' ? entry.ended : Infinity;
      addTo(changed, entry.user, { n: entry.claims!['n'] as number, begun: entry.begun, acknowledged });
    } else if (entry.claims) addTo(seenBy, entry.user, { ...entry, place, n: changeOf(entry.claims) });
  }
  for (const [user, changes] of changed) {
    const seen = (seenBy.get(user) ?? []).toSorted((a, b) => a.begun - b.begun);
    const begins = new Map(changes.map(({ n, begun }) => [n, begun])).set(0, 0);
    for (const entry of seen)
      if (!((begins.get(entry.n ?? NaN) ?? Infinity) <= entry.ended))
        violations.push({ rule: `claims that never were at ${entry.place}`, entry });
    for (const { n, begun, acknowledged } of changes) {
      if (acknowledged === Infinity) continue;
      const limit = { begun: acknowledged, ended: acknowledged + CALM_MS };
      const kind = disturbances.overlap(limit, STALL_MS) ? 'stalls' : 'calm';
      const older = new Set(changes.filter((one) => one.acknowledged <= begun).map((one) => one.n)).add(0);
      for (const place of PLACES) {
        const looks = seen.filter((one) => one.place === place && one.begun >= acknowledged);
        const isOld = (one: Seen): boolean => one.n !== undefined && older.has(one.n);
        const first = looks[looks.findLastIndex(isOld) + 1];
        if (first) delays.get(place)![kind].push(first.ended - acknowledged);
        const due = acknowledged + (place === 'refresh' ? 0 : kind === 'calm' ? CALM_MS : STALL_MS);
        for (const entry of looks)
          if (isOld(entry) && entry.begun > due)
            violations.push({ rule: `old claims at ${place}`, entry: { ...entry, change: n, acknowledged } });
      }
      // A socket may be closed in a stall.
      const due = kind === 'calm' ? limit.ended : disturbances.endOf(limit) + STALL_MS;
      const event = seen.find((one) => one.place === 'socket' && one.n === n);
      if (event) delays.get('socket')![kind].push(Math.max(0, event.ended - acknowledged));
      const rule = event ? event.ended > due && 'late' : 'missing';
      if (rule) violations.push({ rule: `event ${rule} at socket`, entry: event ?? { user, change: n } });
    }
  }
  return { violations, delays, changes: [...changed.values()].flat().length };
}
