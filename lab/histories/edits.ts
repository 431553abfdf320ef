import { STALLED_MS } from './disturbances.js';
import { UNWRITTEN_MS } from './ends.js';
import type { Limits } from './limits.js';
import { FINAL, type HistoryEntry, type Refresh, type Use } from './operation.js';

type Kind = HistoryEntry['kind'];
type Entry<Of extends Kind> = HistoryEntry & { kind: Of };

export interface Edit {
  /** A violation, as `rule: text`, that the checker has to find in the edited history. */
  readonly finds: RegExp;
  readonly entries: readonly HistoryEntry[];
  readonly limits?: Limits;
}

/** Histories with a violation: each is a change to one without. A checker that does not find it finds nothing. */
export function edited(entries: readonly HistoryEntry[]): readonly Edit[] {
  const edit = <Of extends Kind>(finds: RegExp, kind: Of, to: (one: Entry<Of>) => HistoryEntry[]): Edit => ({
    finds,
    entries: entries.flatMap((one) => (one.kind === kind ? to(one as Entry<Of>) : [one])),
  });
  return [
    edit(/^succeeded twice/, 'exchange', (one) => [one, one]),
    edit(/^acknowledged and gone/, 'stored', () => []),
    edit(/^accepted after its end: use/, 'use', accepted),
    edit(/^accepted after its end: introspect/, 'introspect', accepted),
    edit(/^accepted after its end: verify/, 'verify', accepted),
    edit(/^accepted after its end: .*expired/, 'use', (one) =>
      one.outcome === 'ok' ? moved(one, HOUR_MS) : [one],
    ),
    edit(/^accepted after its end: socket/, 'closed', (one) =>
      one.told === 'signed_out' ? late(one, HOUR_MS) : [one],
    ),
    edit(/^missing in the feed: .*after/, 'feed', (one) => late(one, HOUR_MS)),
    edit(/^missing in the feed: .*never/, 'feed', (one) =>
      one.client === 'feed 0' && one.session ? [] : [one],
    ),
    edit(/^delivered wrongly: received twice/, 'receive', (one) => [one, one]),
    {
      // The socket stays open for as long.
      finds: /^delivered wrongly: .*late/,
      entries: entries.map((one) =>
        one.kind === 'receive' || one.kind === 'closed' ? late(one, HOUR_MS)[0]! : one,
      ),
    },
    edit(/^answered for another/, 'use', (one) => [one.user ? { ...one, user: 'somebody' } : one]),
    edit(/^ended for no reason: an access/, 'use', (one) => [
      one.outcome === 'ok' ? { ...one, ...REFUSED } : one,
    ]),
    edit(/^ended for no reason: feed/, 'feed', (one) => moved(one, -one.ended)),
    edit(/^wrong claims: verify .*after/, 'verify', (one) => moved({ ...one, claims: 0 }, STALLED_MS)),
    edit(/^wrong claims: introspect .*mixture/, 'introspect', (one) => [
      one.claims ? { ...one, claims: -1 } : one,
    ]),
    edit(/^uses too much: .*files/, 'sample', (one) => [
      { ...one, files: one.files + (one.when === 'end' ? 40 : 0) },
    ]),
    edit(/^uses too much: .*MiB/, 'sample', (one) => [
      { ...one, memory: one.when === 'end' ? 1000 : one.memory },
    ]),
    edit(/^uses too much: .*rows/, 'rows', (one) => [{ ...one, open_sessions: one.open_sessions + 1000 }]),
    edit(/^unknown answer/, 'authorize', (one) => [{ ...one, outcome: 'refused', status: 418 }]),
  ];
}

/** Edits for the rules of a service with limits. */
export function editedWithLimits(entries: readonly HistoryEntry[], limits: Limits): readonly Edit[] {
  const refreshed = (finds: RegExp, to: (one: Refresh) => Refresh): Edit => ({
    finds,
    limits,
    entries: entries.map((one) => (one.kind === 'refresh' ? to(one) : one)),
  });
  const first = new Map(
    entries.flatMap((one) =>
      one.kind === 'sign-in' && one.issued ? [[one.issued.session, one.issued]] : [],
    ),
  );
  const calling = ({ error: _error, ...call }: Refresh): Refresh => call;
  const issuedWith = (ends: Partial<Refresh['issued']>, one: Refresh): Refresh =>
    one.issued ? { ...one, issued: { ...one.issued, ...ends } } : one;
  return [
    refreshed(/^accepted after its end: refresh .* unused for/, (one) =>
      (one.idleFor ?? 0) >= limits.idleTtl
        ? { ...calling(one), outcome: 'ok', status: 200, issued: first.get(one.session)! }
        : one,
    ),
    refreshed(/^accepted after its end: refresh .* after its idle end/, (one) =>
      one.client === FINAL ? moved(one, HOUR_MS)[0]! : one,
    ),
    refreshed(/^wrong end: .* to the idle end/, (one) =>
      issuedWith({ idleExpiresIn: limits.idleTtl + 1 }, one),
    ),
    refreshed(/^wrong end: a token lives/, (one) => issuedWith({ expiresIn: limits.idleTtl + 1 }, one)),
    refreshed(/^wrong end: .* to the end of the session/, (one) => issuedWith({ sessionExpiresIn: 60 }, one)),
    {
      finds: /^wrong end: the stored end/,
      limits,
      entries: entries.map((one) =>
        one.kind === 'stored-end' ? { ...one, at: one.at + 4 * UNWRITTEN_MS } : one,
      ),
    },
    // As if the service had another limit, or none.
    { finds: /^beyond the limit/, limits: { ...limits, most: 1 }, entries },
    { finds: /^ended for no reason: \d+ of/, limits: { ...limits, most: Infinity }, entries },
    { finds: /^ended for no reason: a refresh/, limits: { ...limits, most: Infinity }, entries },
  ];
}

/** Longer than a reader may take while the machine pauses again and again. */
const HOUR_MS = 3_600_000;

const REFUSED = { outcome: 'refused', status: 401, error: 'invalid_token' } as const;

function accepted(one: Use): HistoryEntry[] {
  const { error, ...call } = one;
  return one.client === FINAL && error !== undefined ? [{ ...call, outcome: 'ok', status: 200 }] : [one];
}

function late<Of extends HistoryEntry>(one: Of, ms: number): Of[] {
  return [{ ...one, ended: one.ended + ms }];
}

function moved<Of extends HistoryEntry>(one: Of, ms: number): Of[] {
  return [{ ...one, begun: one.begun + ms, ended: one.ended + ms }];
}
