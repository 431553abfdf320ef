import { addTo } from '../groups.js';
import { FINAL, type ClaimsChange, type HistoryEntry, type TokenName } from '../operation.js';
import { tokenCall, type Sessions, type TokenCall } from '../sessions.js';
import type { Violation } from '../violation.js';

/** A program's token that was issued so long after a change of claims may count as older, by whole seconds. */
const OLDER_MS = 11_000;

/**
 * A session ends by a sign-out of its owner or their backend, and nothing else (spec §1, §2.2); an access token besides by the
 * revocation of its key, and by its expiry; that of a program, in an API, by a change of claims.
 */
export function endedForNoReason(entries: readonly HistoryEntry[], sessions: Sessions): Violation[] {
  const violations: Violation[] = [];
  const add = (text: string, entry: HistoryEntry, session: string): void => {
    const signIn = sessions.lives.get(session)?.signIn;
    const shown = signIn ? [signIn, entry] : [entry];
    violations.push({ rule: 'ended for no reason', text: `${text} of session ${session}`, entries: shown });
  };
  const changes = new Map<string, ClaimsChange[]>();
  for (const entry of entries)
    if (entry.kind === 'claims' && entry.outcome !== 'refused') addTo(changes, entry.user, entry);
  for (const entry of entries) {
    const by = entry.ended;
    if (entry.kind === 'refresh' && entry.error === 'invalid_grant' && entry.client !== FINAL) {
      if (!sessions.mayHaveEnded(entry.session, by)) add('a refresh was refused', entry, entry.session);
    }
    const call = tokenCall(entry);
    const isRefused = call?.error === 'invalid_token' || call?.error === 'inactive';
    if (isRefused && !mayBeRefused(call.token, by) && !mayHaveOlderClaims(call)) {
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

  /** An API knows the new claims of a user, and not which of them a program may have (docs/agents.md#at-the-api). */
  function mayHaveOlderClaims({ kind, token, ended: by }: TokenCall): boolean {
    const { by: issued } = sessions.tokens.get(token.jti)!;
    const { signIn, user } = sessions.lives.get(token.session)!;
    if (kind !== 'verify' || signIn.program === undefined) return false;
    return (changes.get(user) ?? []).some(
      ({ begun, ended, outcome }) => begun <= by && (outcome !== 'ok' || ended >= issued.begun - OLDER_MS),
    );
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
