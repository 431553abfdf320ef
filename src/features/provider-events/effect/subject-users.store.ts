import { Injectable } from '@nestjs/common';
import { DataSource, IsNull, type EntityManager } from 'typeorm';
import { deriveUserId } from '../../../identity/user-id.js';
import { hashOfName } from '../../../token/sessions/recent-ends.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { hasBegunSince, subjectsOfSessions } from '../../../token/sessions/session.store.js';
import { UserStore } from '../../../user/user.store.js';
import { SignalSubject } from './signal-subject.entity.js';

/** Which user is which subject of the provider. */
@Injectable()
export class SubjectUsers {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly users: UserStore,
    private readonly dataSource: DataSource,
  ) {}

  /** Keeps the subject of a user who signs in. */
  async keep(userId: string, provider: string, subject: Buffer): Promise<void> {
    const { manager } = this.dataSource;
    if (await manager.existsBy(SignalSubject, { userId, subject, claimsAt: IsNull() })) return;
    await manager.upsert(SignalSubject, { userId, provider, subject, claimsAt: null }, ['userId']);
  }

  /** Returns the ids of the users with a subject, in order. */
  async usersOf(manager: EntityManager, provider: string, sub: string): Promise<string[]> {
    const subject = hashOfName(provider, sub);
    const rows = await manager.find(SignalSubject, { select: { userId: true }, where: { subject } });
    const userIds = rows.map(({ userId }) => userId);
    // Also without a sign-in since `signals` is on.
    if (this.isUserId(provider)) userIds.push(deriveUserId(provider, sub));
    return this.users.findExisting(manager, userIds);
  }

  /** Returns the ids of the users of a provider with an e-mail address; two at most. */
  usersWithEmail(manager: EntityManager, provider: string, email: string): Promise<string[]> {
    return this.users.findByEmail(manager, provider, email, 2);
  }

  /**
   * Returns the subjects of a user: as of the last sign-in, of the sessions, and the user id if it is one.
   */
  async subjectsOf(manager: EntityManager, userId: string): Promise<Buffer[]> {
    const row = await manager.findOneBy(SignalSubject, { userId });
    const user = await this.users.find(userId);
    const found = [...(row ? [row.subject] : []), ...(await subjectsOfSessions(manager, userId))];
    if (user && this.isUserId(user.provider)) found.push(hashOfName(user.provider, user.providerUserId));
    return [...new Map(found.map((subject) => [subject.toString('hex'), subject])).values()];
  }

  async forget(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(SignalSubject, { userId });
  }

  /**
   * Begins a change of the claims of a user. Older ones than the last change, or than a sign-in, have no
   * effect.
   * @returns whether it is the latest
   */
  async beginClaims(manager: EntityManager, userId: string, provider: string, sub: Buffer, at: Date) {
    const row = await manager.findOne(SignalSubject, {
      where: { userId },
      lock: { mode: 'for_no_key_update' },
    });
    if (row?.claimsAt && row.claimsAt > at) return false;
    const endOfSecond = new Date(at.getTime() + 1000); // times of events are whole seconds
    if (await hasBegunSince(manager, userId, endOfSecond)) return false;
    await manager.upsert(SignalSubject, { userId, provider, subject: sub, claimsAt: at }, ['userId']);
    return true;
  }

  /** Whether the `sub` is the user id of the provider's users. */
  private isUserId(provider: string): boolean {
    const settings = this.providers.find(provider)?.settings;
    return settings?.signals !== undefined && (settings.options['claim_user_id'] ?? 'sub') === 'sub';
  }
}
