import { accountOf } from './account.js';
import type { HistoryEntry, Merge, SignIn } from './operation.js';

/** What a history says of two users who are to become one, over all attempts. */
export interface Union {
  readonly account: string;
  readonly former: string;
  readonly into: string;
  /** The first attempt that may have done it. */
  begun: Merge | undefined;
  /** The first answer that shows that it is done. */
  shown: Merge | SignIn | undefined;
}

/** Merges of a history. */
export class Merges {
  /** By the account of the former user, by its name at the provider. */
  readonly byAccount = new Map<string, Union>();
  readonly byFormer = new Map<string, Union>();

  constructor(entries: readonly HistoryEntry[]) {
    for (const entry of entries) if (entry.kind === 'merge') this.note(entry);
    for (const entry of entries) {
      if (entry.kind !== 'sign-in' || entry.outcome !== 'ok') continue;
      const union = this.byAccount.get(accountOf(entry));
      if (entry.user === union?.into) show(union!, entry);
    }
  }

  /** Whether a user may have become part of another one by then, and what is stored of them may be gone. */
  mayBeGone(user: string, by = Infinity): boolean {
    const begun = this.byFormer.get(user)?.begun;
    return begun !== undefined && begun.begun <= by;
  }

  private note(merge: Merge): void {
    const { step, outcome, account, former, into } = merge;
    const union = this.byAccount.get(account) ?? {
      account,
      former,
      into,
      begun: undefined,
      shown: undefined,
    };
    this.byAccount.set(account, union);
    this.byFormer.set(former, union);
    const mayBeDone = step === 'merge' && outcome !== 'refused';
    if (mayBeDone && !(union.begun && union.begun.begun <= merge.begun)) union.begun = merge;
    if (step !== 'begin' && outcome === 'ok') show(union, merge);
  }
}

function show(union: Union, by: Merge | SignIn): void {
  if (!union.shown || by.ended < union.shown.ended) union.shown = by;
}
