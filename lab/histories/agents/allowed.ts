import { API } from '../../../test/support/agent.js';
import { ISSUER } from '../../world/world.js';
import { addTo } from '../groups.js';
import type { HistoryEntry } from '../operation.js';
import { tokenCall, type SessionLife, type Sessions } from '../sessions.js';
import type { Checked, Violation } from '../violation.js';

type Found = Omit<Violation, 'rule'>;

/**
 * A program has tokens for its API alone, which the application refuses, and one session with each user: of concurrent consents one is left
 * (docs/agents.md#what-a-program-gets).
 */
export function* allowedWrongly(
  entries: readonly HistoryEntry[],
  { lives }: Sessions,
  checked: Checked,
): Generator<Violation> {
  const ofUsers = new Map<string, SessionLife[]>();
  for (const life of lives.values()) if (life.signIn.program) addTo(ofUsers, life.user, life);
  const found: Found[] = [...ofUsers.values()].flatMap((all) => [...liveAtOnce(all)]);
  for (const entry of entries) {
    if (entry.kind === 'trespass') {
      if (entry.outcome === 'ok')
        found.push({ text: `a token of a program was accepted at ${entry.at}`, entries: [entry] });
      else if (entry.outcome === 'refused') checked.count(`programs refused at ${entry.at}`);
    }
    if ((entry.kind === 'sign-in' || entry.kind === 'refresh') && entry.issued) {
      const { session, audience } = entry.issued;
      const text = `a ${entry.kind} of session ${session} got a token for ${audience}`;
      if (audience !== (programOf(session) ? API : ISSUER)) found.push({ text, entries: [entry] });
    }
    const call = entry.kind === 'refresh' ? entry : tokenCall(entry);
    const session = call?.kind === 'refresh' ? call.session : call?.token.session;
    const ended = session !== undefined && programOf(session) && lives.get(session)?.ended;
    if (call?.outcome === 'refused' && ended && ended.ended < call.begun)
      checked.count(`${call.kind} of programs after their end`);
  }
  for (const one of found) yield { rule: 'allowed wrongly', ...one };

  function programOf(session: string): string | undefined {
    return lives.get(session)?.signIn.program;
  }
}

/** Two sessions of a user with a program that were accepted after the answers to both consents. */
function* liveAtOnce(all: readonly SessionLife[]): Generator<Found> {
  let longest: SessionLife | undefined;
  for (const life of all.toSorted((a, b) => a.signIn.ended - b.signIn.ended)) {
    const { signIn, lastAlive, user } = life;
    if (longest && Math.min(longest.lastAlive, lastAlive) > signIn.ended) {
      const text = `two sessions of a program with user ${user} live`;
      yield { text, entries: [longest.signIn, signIn] };
    }
    if (!longest || lastAlive > longest.lastAlive) longest = life;
  }
}
