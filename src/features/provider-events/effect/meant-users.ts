import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { MeantOfUser } from '../../../device/end-sessions.js';
import { hashIfNamed, hashOfName } from '../../../token/sessions/recent-ends.js';
import { TooManyUsers, usersAtProvider } from '../../../token/sessions/session.store.js';
import { OtherSubject, type Subject } from '../verify/subject.js';
import { SubjectUsers } from './subject-users.store.js';

/** Users and sessions that a signal is about. */
export interface Meant {
  /** Of users who exist, in order. */
  readonly userIds: readonly string[];
  readonly names: MeantOfUser;
  /** Accounts at the provider, as hashes. */
  readonly accounts: readonly Buffer[];
  readonly subject: string | null;
  readonly email: string | null;
  readonly session: string | null;
}

/** Finds whom a signal is about, among the users of its provider. */
@Injectable()
export class MeantUsers {
  constructor(private readonly subjects: SubjectUsers) {}

  async find(
    manager: EntityManager,
    provider: string,
    { user, session }: Subject,
  ): Promise<Meant | OtherSubject> {
    const named = { session: session ?? null };
    const sessionHash = hashIfNamed(provider, named.session);
    if (user && 'email' in user) {
      const userIds = await this.subjects.usersWithEmail(manager, provider, user.email);
      if (userIds.length > 1) return new OtherSubject('several users have the e-mail address');
      const names = { session: sessionHash, subjects: null };
      const accounts = userIds[0] === undefined ? [] : await this.subjects.subjectsOf(manager, userIds[0]);
      return { userIds, names, accounts, subject: null, email: user.email, ...named };
    }
    const subject = user?.sub ?? null;
    const accounts = subject === null ? [] : [hashOfName(provider, subject)];
    try {
      // Also users with sessions from before `signals` was on.
      const found = await usersAtProvider(manager, { session: sessionHash, subjects: accounts });
      const known = subject === null ? [] : await this.subjects.usersOf(manager, provider, subject);
      const userIds = [...new Set([...found.userIds, ...known])].toSorted();
      return { userIds, names: found.known, accounts, subject, email: null, ...named };
    } catch (error) {
      if (!(error instanceof TooManyUsers)) throw error;
      return new OtherSubject('too many users have the subject');
    }
  }
}
