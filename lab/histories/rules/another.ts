import { accountOf } from '../account.js';
import type { HistoryEntry, Holder, SignIn } from '../operation.js';
import type { SessionLife, Sessions } from '../sessions.js';
import type { Violation } from '../violation.js';

export function answeredForAnother(entries: readonly HistoryEntry[], sessions: Sessions): Violation[] {
  const violations: Violation[] = [];
  const add = (text: string, ...shown: HistoryEntry[]): void =>
    void violations.push({ rule: 'answered for another', text, entries: shown });
  const users = new Map<string, SignIn>();
  const accounts = new Map<string, SignIn>();
  const issued = new Map<string, HistoryEntry>();
  for (const entry of entries) {
    if (!('outcome' in entry) || entry.outcome !== 'ok') continue;
    if ((entry.kind === 'sign-in' || entry.kind === 'refresh') && entry.issued) {
      const first = issued.get(entry.issued.jti);
      if (first) add(`token ${entry.issued.jti} was issued twice`, first, entry);
      issued.set(entry.issued.jti, entry);
    }
    if (entry.kind === 'sign-in') {
      const { user, device, issued: token } = entry;
      const account = accountOf(entry);
      if (sessions.merges.byAccount.get(account)?.into !== user) {
        const [ofAccount, ofUser] = [accounts.get(account) ?? entry, users.get(user!) ?? entry];
        accounts.set(account, ofAccount);
        users.set(user!, ofUser);
        if (ofAccount.user !== user) add(`${account} is two users`, ofAccount, entry);
        if (accountOf(ofUser) !== account) add(`user ${user} has two accounts`, ofUser, entry);
      }
      if (token!.user !== user || token!.device !== device)
        add(`a sign-in of ${account} got another token`, entry);
    }
    if (entry.kind === 'refresh' && !isOf(entry.session, entry.issued!)) {
      add(`a refresh of session ${entry.session} got another token`, entry);
    }
    const isRead = entry.kind === 'use' || entry.kind === 'introspect' || entry.kind === 'verify';
    if (isRead && entry.user !== (lifeOf(entry.token.session)?.user ?? entry.user)) {
      add(`${entry.kind} of session ${entry.token.session} is about another user`, entry);
    }
    if (entry.kind === 'connect' && !isOf(entry.token.session, entry.holder!)) {
      add(`ready of session ${entry.token.session} is about another`, entry);
    }
  }
  return violations;

  function lifeOf(session: string): SessionLife | undefined {
    return sessions.lives.get(session);
  }

  function isOf(session: string, holder: Holder): boolean {
    const { user, device } = lifeOf(session) ?? holder;
    return holder.session === session && holder.user === user && holder.device === device;
  }
}
