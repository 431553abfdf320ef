import { check } from './checker.js';
import type { HistoryEntry } from './operation.js';
import { quietUser } from './quiet-user.js';

type Change = Record<string, unknown>;

const PATIENCE = { socketsMs: 1000, keysMs: 1000, deliveredMs: 1000 };
const quiet = quietUser() as unknown as Record<string, Change>;

/** Violations in the history of one user after a change of its entries; null removes an entry. */
function violationsAfter(changes: Readonly<Record<string, Change | null>>): string[] {
  const entries = { ...quiet };
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete entries[name];
    else entries[name] = { ...entries[name], ...change };
  }
  return check(Object.values(entries) as unknown as HistoryEntry[], PATIENCE).violations.map(
    ({ rule, text }) => `${rule}: ${text}`,
  );
}

it('accepts a legal history', () => {
  expect(violationsAfter({})).toEqual([]);
});

it.each<[string, Record<string, Change | null>]>([
  [
    'succeeded twice: two sign-ins with state',
    { again: { ...quiet['signIn'], code: 'quiet.3', client: 'thief' } },
  ],
  ['succeeded twice: the provider was asked twice', { again: { ...quiet['exchange'] } }],
  ['acknowledged and gone: session kept is gone', { look: null }],
  ['acknowledged and gone: push n 5 is not in the history', { stored5: { id: 'another id' } }],
  [
    'accepted after its end: use of session left',
    { late: { ...quiet['use'], token: quiet['signInLeft']!['issued'], begun: 6011, ended: 6020 } },
  ],
  [
    'accepted after its end: use with key quiet key',
    { late: { ...quiet['use'], begun: 21_011, ended: 21_020 } },
  ],
  ['delivered wrongly: received twice', { again: { ...quiet['receive4'] } }],
  ['delivered wrongly: never received', { receive4: null }],
  [
    'delivered wrongly: received by another device',
    { push4: { device: 'phone' }, stored4: { device: 'phone' } },
  ],
  ['answered for another: ', { use: { user: 'somebody' } }],
])('refuses: %s', (expected, changes) => {
  const found = violationsAfter(changes)
    .join('\n')
    .replaceAll(/(?<=^[a-z ]+: ).*?(?=$)/gm, '$&');
  for (const part of expected.split(': ')) expect(found).toContain(part);
});
