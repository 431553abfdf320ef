import { FINAL, type HistoryEntry, type TokenName } from '../operation.js';
import { tokenCall, type Sessions } from '../sessions.js';
import type { Violation } from '../violation.js';

/**
 * A session ends by a sign-out of its owner or their backend, and nothing else (spec §1, §2.2); an access token besides by the
 * revocation of its key, and by its expiry.
 */
export function endedForNoReason(entries: readonly HistoryEntry[], sessions: Sessions): Violation[] {
  const violations: Violation[] = [];
  const add = (text: string, entry: HistoryEntry, session: string): void => {
    const signIn = sessions.lives.get(session)?.signIn;
    const shown = signIn ? [signIn, entry] : [entry];
    violations.push({ rule: 'ended for no reason', text: `${text} of session ${session}`, entries: shown });
  };
  for (const entry of entries) {
    const by = entry.ended;
    if (entry.kind === 'refresh' && entry.error === 'invalid_grant' && entry.client !== FINAL) {
      if (!sessions.mayHaveEnded(entry.session, by)) add('a refresh was refused', entry, entry.session);
    }
    const call = tokenCall(entry);
    if ((call?.error === 'invalid_token' || call?.error === 'inactive') && !mayBeRefused(call.token, by)) {
      add('an access token was refused', entry, call.token.session);
    }
    // A handshake that was ended before it was ready says so in place of an error.
    if (entry.kind === 'connect' && entry.outcome !== 'ok' && !mayBeTold(entry.error, entry.token, by)) {
      add(`a handshake was told ${entry.error}`, entry, entry.token.session);
    }
    if (entry.kind === 'closed' && !mayBeTold(entry.told, entry.token, by)) {
      add(`a socket was told ${entry.told}`, entry, entry.token.session);
    }
  }
  return violations;

  function mayBeRefused({ session, kid, jti }: TokenName, by: number): boolean {
    return sessions.mayHaveEnded(session, by) || sessions.mayBeRevoked(kid, by) || mayHaveExpired(jti, by);
  }

  function mayBeTold(told: string | undefined, { session, kid, jti }: TokenName, by: number): boolean {
    if (told === 'signed_out') return sessions.mayHaveEnded(session, by);
    if (told === 'revoked') return sessions.mayBeRevoked(kid, by);
    if (told === 'expired') return mayHaveExpired(jti, by);
    return true; // the client comes back by itself
  }

  /** `exp` is in whole seconds, so it may be up to a second before `expires_in` is over. */
  function mayHaveExpired(jti: string, by: number): boolean {
    const token = sessions.tokens.get(jti);
    return !token || token.by.begun + (token.expiresIn - 1) * 1000 <= by;
  }
}
