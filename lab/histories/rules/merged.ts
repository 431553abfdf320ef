import { accountOf } from '../account.js';
import type { Union } from '../merges.js';
import type { HistoryEntry, Push, SignIn } from '../operation.js';
import { tokenCall, type Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

type Found = Omit<Violation, 'rule'>;

/**
 * An account has one user: until a merge its own, and from then on the one with whom it was merged (docs/guides/linking.md). Once an answer
 * has shown that, nothing is left of the former user: no session, no channel, no history.
 */
export function* mergedWrongly(
  entries: readonly HistoryEntry[],
  { merges, lives }: Sessions,
  checked: Checked,
): Generator<Violation> {
  for (const entry of entries) {
    const found = judge(entry);
    if (found) yield { rule: 'merged wrongly', ...found };
  }

  function judge(entry: HistoryEntry): Found | undefined {
    if (entry.kind === 'sign-in') {
      const union = entry.outcome === 'ok' ? merges.byAccount.get(accountOf(entry)) : undefined;
      return union && ofOneUser(union, entry);
    }
    if (entry.kind === 'merge' && entry.step === 'prove' && entry.outcome === 'ok') {
      const begun = merges.byAccount.get(entry.account)?.begun;
      const isKnown = begun !== undefined && begun.begun <= entry.ended;
      return isKnown ? undefined : { text: `${entry.account} is joined without a merge`, entries: [entry] };
    }
    if (entry.kind === 'push') return ofNobody(entry);
    if (entry.kind === 'stored') {
      const shown = merges.byFormer.get(entry.user)?.shown;
      return shown && { text: `an event of the former user ${entry.user} is kept`, entries: [shown, entry] };
    }
    const call = entry.kind === 'refresh' ? entry : tokenCall(entry);
    if (!call || call.kind === 'verify') return undefined;
    const session = call.kind === 'refresh' ? call.session : call.token.session;
    const user = lives.get(session)?.user;
    const shown = user && merges.byFormer.get(user)?.shown;
    if (!shown || call.begun <= shown.ended) return undefined;
    checked.count('calls of former users');
    if (call.outcome !== 'ok') return undefined;
    return { text: `${call.kind} of session ${session} of the former user ${user}`, entries: [shown, call] };
  }

  function ofOneUser({ account, former, into, begun, shown }: Union, signIn: SignIn): Found | undefined {
    const say = (what: string, ...before: readonly HistoryEntry[]): Found => ({
      text: `${account} is ${what}`,
      entries: [...before, signIn],
    });
    if (signIn.user === into) {
      checked.count('sign-ins after a merge');
      return begun && begun.begun <= signIn.ended ? undefined : say('another user before a merge');
    }
    if (signIn.user !== former) return say(`a third user, ${signIn.user}`);
    return shown && signIn.begun > shown.ended ? say(`the former user ${former} again`, shown) : undefined;
  }

  function ofNobody(push: Push): Found | undefined {
    const union = merges.byFormer.get(push.user);
    if (!union) return undefined;
    const { into, shown, former } = union;
    if (push.outcome === 'refused' && push.mergedInto !== into)
      return { text: `a push to ${former} was told ${push.mergedInto} in place of ${into}`, entries: [push] };
    if (!shown || push.begun <= shown.ended) return undefined;
    checked.count('pushes to former users');
    if (push.outcome !== 'ok') return undefined;
    return { text: `a push to the former user ${former} was accepted`, entries: [shown, push] };
  }
}
