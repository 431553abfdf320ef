import { accountOf } from './account.js';
import type { Edit } from './edits.js';
import { Merges, type Union } from './merges.js';
import type { HistoryEntry, SignIn } from './operation.js';
import { Sessions } from './sessions.js';
import { Disturbances } from './disturbances.js';

/** As `edited`, for the rules of two users who have become one. */
export function editedMerges(entries: readonly HistoryEntry[]): readonly Edit[] {
  const { byAccount, byFormer } = new Merges(entries);
  const { lives } = new Sessions(entries, new Disturbances(entries));
  const done = [...byFormer.values()].filter(({ shown }) => shown);
  const heard = new Set(entries.flatMap((one) => (one.kind === 'receive' && one.n ? [one.n] : [])));
  const formerOf = new Map(done.map(({ into, former }) => [into, former]));
  const edit = (finds: RegExp, to: (one: HistoryEntry) => HistoryEntry): Edit => ({
    finds,
    entries: entries.map(to),
  });
  const signIn = (
    finds: RegExp,
    isIt: (one: SignIn, union: Union) => boolean,
    who: 'former' | 'into',
  ): Edit =>
    edit(finds, (one) => {
      const union = one.kind === 'sign-in' && one.issued ? byAccount.get(accountOf(one)) : undefined;
      if (one.kind !== 'sign-in' || !union || !isIt(one, union)) return one;
      return { ...one, user: union[who], issued: { ...one.issued!, user: union[who] } };
    });
  const afterwards = ({ begun }: { readonly begun: number }, { shown }: Union): boolean =>
    shown !== undefined && begun > shown.ended;
  const living = (finds: RegExp): Edit =>
    edit(finds, (one) => {
      if (one.kind !== 'use' || one.outcome !== 'refused') return one;
      const user = lives.get(one.token.session)?.user;
      const union = user && byFormer.get(user);
      const { error: _error, ...call } = one;
      return union && afterwards(one, union) ? { ...call, outcome: 'ok', status: 200, user } : one;
    });
  return [
    living(/^accepted after its end: use of session .* signed out/),
    living(/^merged wrongly: use of session .* of the former user/),
    signIn(/^merged wrongly: .* is the former user/, afterwards, 'former'),
    signIn(
      /^merged wrongly: .* is another user before/,
      (one, { begun }) => one.ended < begun!.begun,
      'into',
    ),
    edit(/^delivered wrongly: received by a stranger/, (one) => {
      const former = one.kind === 'push' && heard.has(one.n) ? formerOf.get(one.user) : undefined;
      return former ? ({ ...one, user: former } as HistoryEntry) : one;
    }),
    edit(/^merged wrongly: a push to the former user .* was accepted/, (one) => {
      const union = one.kind === 'push' ? byFormer.get(one.user) : undefined;
      const { error: _error, mergedInto: _into, ...call } = one as Extract<HistoryEntry, { kind: 'push' }>;
      return union && afterwards(one, union)
        ? { ...call, outcome: 'ok', status: 202, id: 'of it', offset: 1 }
        : one;
    }),
    edit(/^merged wrongly: an event of the former user/, (one) => {
      const former = one.kind === 'stored' ? formerOf.get(one.user) : undefined;
      return former ? ({ ...one, user: former } as HistoryEntry) : one;
    }),
  ];
}
