import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { deriveUserId } from '../../../identity/user-id.js';
import { hashOfName } from '../../../token/sessions/recent-ends.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { subjectsOfSessions } from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';

/** Which user is which subject of the provider. */
@Injectable()
export class SubjectUsers {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly users: UserStore,
  ) {}

  /** Returns the ids of the users with a subject, in order. */
  async usersOf(manager: EntityManager, provider: string, sub: string): Promise<string[]> {
    const userIds = await this.users.findBySubject(manager, provider, sub);
    if (this.isUserId(provider)) userIds.push(deriveUserId(provider, sub));
    return this.users.findExisting(manager, userIds);
  }

  /** Returns the ids of the users of a provider with an e-mail address; two at most. */
  usersWithEmail(manager: EntityManager, provider: string, email: string): Promise<string[]> {
    return this.users.findByEmail(manager, provider, email, 2);
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

  /** Whether the `sub` is the user id of the provider's users. */
  private isUserId(provider: string): boolean {
    const settings = this.providers.find(provider)?.settings;
    return settings?.signals !== undefined && (settings.options['claim_user_id'] ?? 'sub') === 'sub';
  }
}
