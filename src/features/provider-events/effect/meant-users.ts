import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { deriveUserId } from '../../../identity/user-id.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { hashIfNamed, hashOfName } from '../../../token/sessions/recent-ends.js';
import {
  haveJoinedSession,
  subjectsOfSessions,
  TooManyUsers,
  usersAtProvider,
  type NamesAtProvider,
} from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';
import { OtherSubject, type Subject } from '../verify/subject.js';

const ALL_SESSIONS: NamesAtProvider = { session: null, subjects: null };

/** Users and sessions that a signal is about. */
export interface Meant {
  /** Of users who exist, in order. */
  readonly userIds: readonly string[];
  readonly names: NamesAtProvider;
  /** Accounts at the provider, as hashes. */
  readonly accounts: readonly Buffer[];
  readonly subject: string | null;
  readonly email: string | null;
  readonly session: string | null;
}

/** Finds whom a signal is about, among the users of its provider. */
@Injectable()
export class MeantUsers {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly users: UserStore,
  ) {}

  async find(
    manager: EntityManager,
    provider: string,
    { user, session }: Subject,
  ): Promise<Meant | OtherSubject> {
    const named = { session: session ?? null };
    const sessionHash = hashIfNamed(provider, named.session);
    if (user && 'email' in user) {
      const userIds = await this.users.findByEmail(manager, provider, user.email, 2);
      if (userIds.length > 1) return new OtherSubject('several users have the e-mail address');
      const names = { session: sessionHash, subjects: null };
      const accounts = userIds[0] === undefined ? [] : await this.subjectsOf(manager, userIds[0]);
      return { userIds, names, accounts, subject: null, email: user.email, ...named };
    }
    const subject = user?.sub ?? null;
    const accounts = subject === null ? [] : [hashOfName(provider, subject)];
    try {
      // Also users with sessions from before `signals` was on.
      const found = await usersAtProvider(manager, sessionHash, accounts);
      const known = subject === null ? [] : await this.usersOf(manager, provider, subject);
      const userIds = [...new Set([...found.userIds, ...known])].toSorted();
      // Sessions of users themselves end whatever identity they have begun by; a named session ends alone.
      const areOfUsers = named.session === null && known.length > 0;
      const names = areOfUsers && (await haveJoinedSession(manager, known)) ? ALL_SESSIONS : found.names;
      return { userIds, names, accounts, subject, email: null, ...named };
    } catch (error) {
      if (!(error instanceof TooManyUsers)) throw error;
      return new OtherSubject('too many users have the subject');
    }
  }

  /**
   * Returns the subjects of a user, as hashes: as of the last sign-in, of the sessions, and the user id if it
   * is one.
   */
  async subjectsOf(manager: EntityManager, userId: string): Promise<Buffer[]> {
    const found = await subjectsOfSessions(manager, userId);
    const user = await this.users.find(userId);
    if (user) {
      const { provider, providerUserId, identity } = user;
      // The first one: events that name an e-mail address are put in order by it.
      if (identity?.subject !== undefined) found.unshift(hashOfName(provider, identity.subject));
      if (this.isUserId(provider)) found.push(hashOfName(provider, providerUserId));
    }
    return [...new Map(found.map((subject) => [subject.toString('hex'), subject])).values()];
  }

  /** Returns the ids of the users with a subject, in order. */
  private async usersOf(manager: EntityManager, provider: string, sub: string): Promise<string[]> {
    const userIds = await this.users.findBySubject(manager, provider, sub);
    if (this.isUserId(provider)) userIds.push(deriveUserId(provider, sub));
    return this.users.findExisting(manager, userIds);
  }

  /** Whether the `sub` is the user id of the provider's users. */
  private isUserId(provider: string): boolean {
    const settings = this.providers.find(provider)?.settings;
    return settings?.signals !== undefined && (settings.options['claim_user_id'] ?? 'sub') === 'sub';
  }
}
