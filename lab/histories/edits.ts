import { CALM_MS, STALLED_MS } from './disturbances.js';
import type { HistoryEntry, Use } from './operation.js';
import { FINAL } from './rules/kept.js';

type Change<Kind extends HistoryEntry['kind']> = (entry: HistoryEntry & { kind: Kind }) => HistoryEntry[];

interface Edit {
  readonly name: string;
  /** A violation, as `rule: text`, that the checker has to find in the edited history. */
  readonly finds: RegExp;
  readonly entries: readonly HistoryEntry[];
}

/** Histories with a violation: each is a change to one without. A checker that does not find it finds nothing. */
export function edited(entries: readonly HistoryEntry[]): readonly Edit[] {
  const change = <Kind extends HistoryEntry['kind']>(kind: Kind, to: Change<Kind>): HistoryEntry[] =>
    entries.flatMap((entry) => (entry.kind === kind ? to(entry as HistoryEntry & { kind: Kind }) : [entry]));
  const late = <Entry extends HistoryEntry>(one: Entry, ms: number): Entry[] => [
    { ...one, ended: one.ended + ms },
  ];
  const refused = { outcome: 'refused', status: 401, error: 'invalid_token' } as const;
  const isEnded = ({ client, error }: Use): boolean => client === FINAL && error !== undefined;
  const inAnHour = (one: Use): Use => ({
    ...one,
    begun: one.begun + 3_600_000,
    ended: one.ended + 3_600_000,
  });
  const accept = (one: Use): Use[] => (isEnded(one) ? [accepted(one)] : [one]);
  return [
    {
      name: 'a code is exchanged twice',
      finds: /^succeeded twice/,
      entries: change('exchange', (one) => [one, one]),
    },
    { name: 'events are lost', finds: /^acknowledged and gone/, entries: change('stored', () => []) },
    { name: '/me accepts ended sessions', finds: /^accepted.*: use/, entries: change('use', accept) },
    {
      name: 'introspection accepts them',
      finds: /^accepted.*: introspect/,
      entries: change('introspect', accept),
    },
    { name: 'verify() accepts them', finds: /^accepted.*: verify/, entries: change('verify', accept) },
    {
      name: 'expired tokens are accepted',
      finds: /^accepted.*expired/,
      entries: change('use', (one) => [one.outcome === 'ok' ? inAnHour(one) : one]),
    },
    {
      name: 'sockets close late',
      finds: /^accepted.*socket/,
      entries: change('closed', (one) => (one.told === 'signed_out' ? late(one, CALM_MS) : [one])),
    },
    {
      name: 'the feed is late',
      finds: /^missing in the feed.*after/,
      entries: change('feed', (one) => late(one, CALM_MS)),
    },
    {
      name: 'the feed has no event',
      finds: /^missing in the feed.*never/,
      entries: change('feed', (one) => (one.client === 'feed 0' && one.session ? [] : [one])),
    },
    {
      name: 'an event comes twice',
      finds: /^delivered wrongly/,
      entries: change('receive', (one) => [one, one]),
    },
    {
      name: 'events come late',
      finds: /^delivered wrongly.*late/,
      entries: change('receive', (one) => late(one, CALM_MS)),
    },
    {
      name: 'an answer is for another',
      finds: /^answered for another/,
      entries: change('use', (one) => [one.user ? { ...one, user: 'somebody' } : one]),
    },
    {
      name: 'tokens are refused',
      finds: /^ended for no reason/,
      entries: change('use', (one) => [one.outcome === 'ok' ? { ...one, ...refused } : one]),
    },
    {
      name: 'the feed has a session that lives',
      finds: /^ended for no reason.*feed/,
      entries: change('feed', (one) => [{ ...one, begun: -1, ended: -1 }]),
    },
    {
      name: 'claims are old',
      finds: /^wrong claims: verify.*after the answer/,
      entries: change('verify', (one) => [{ ...one, claims: 0, begun: one.begun + STALLED_MS }]),
    },
    {
      name: 'claims are a mixture',
      finds: /^wrong claims: introspect.*mixture/,
      entries: change('introspect', (one) => [one.claims ? { ...one, claims: -1 } : one]),
    },
    {
      name: 'files stay open',
      finds: /^uses too much.*files/,
      entries: change('sample', (one) => [one.when === 'end' ? { ...one, files: one.files + 40 } : one]),
    },
    {
      name: 'memory grows',
      finds: /^uses too much.*MiB/,
      entries: change('sample', (one) => [one.when === 'end' ? { ...one, memory: one.memory + 500 } : one]),
    },
    {
      name: 'rows are left',
      finds: /^uses too much.*rows/,
      entries: change('rows', (one) => [{ ...one, open_sessions: one.open_sessions + 1000 }]),
    },
    {
      name: 'an answer is unknown',
      finds: /^unknown answer/,
      entries: change('authorize', (one) => [{ ...one, outcome: 'refused', status: 418 }]),
    },
  ];
}

function accepted({ error: _error, ...call }: Use): Use {
  return { ...call, outcome: 'ok', status: 200 };
}
