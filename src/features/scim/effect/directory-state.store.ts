import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type EntityManager, type Repository } from 'typeorm';
import { type ClaimedUser, type UserQuery, UserLifecycle, type UserStates } from '../../../extensions.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { scimProviders } from '../scim.settings.js';
import { DirectoryRights } from './directory-claims.js';
import type { Person } from './directory-persons.js';
import { DirectoryState } from './directory-state.entity.js';
import { WRITE_STATES } from './directory-state.sql.js';

/** What the directories of providers say of users, for support people. */
@Injectable()
@UserLifecycle()
export class DirectoryStates implements UserLifecycle {
  private readonly known: ReturnType<typeof scimProviders>;

  constructor(
    private readonly rights: DirectoryRights,
    @InjectRepository(DirectoryState) private readonly states: Repository<DirectoryState>,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.known = scimProviders(settings);
  }

  /** Writes the states of users, whose rows are locked. */
  async write(manager: EntityManager, persons: readonly Person[]): Promise<void> {
    if (persons.length === 0) return;
    await manager.query(WRITE_STATES, [
      persons.map(({ userId }) => userId),
      persons.map(({ directoryUser: { active } }) => active),
      persons.map(({ directoryUser: { changedAt } }) => changedAt),
    ]);
  }

  /** Forgets users whom the directory does not know any more. @returns those whom it knew */
  async forget(manager: EntityManager, persons: readonly Person[]): Promise<ReadonlySet<string>> {
    if (persons.length === 0) return new Set();
    const userIds = In(persons.map(({ userId }) => userId));
    const forgetting = manager.createQueryBuilder().delete().from(DirectoryState).where({ userId: userIds });
    const { raw } = await forgetting.returning('user_id').execute();
    return new Set((raw as { user_id: string }[]).map(({ user_id }) => user_id));
  }

  async ownClaims(manager: EntityManager, { userId, provider }: ClaimedUser): Promise<readonly string[]> {
    const isKnown = this.known.has(provider) && (await manager.existsBy(DirectoryState, { userId }));
    return isKnown ? this.rights.namesOf(manager, provider) : [];
  }

  /** Once the directory of a provider is off, it says nothing. */
  async describe(users: readonly ClaimedUser[]): Promise<ReadonlyMap<string, UserStates>> {
    const userIds = users.filter(({ provider }) => this.known.has(provider)).map(({ userId }) => userId);
    const found = userIds.length > 0 ? await this.states.findBy({ userId: In(userIds) }) : [];
    return new Map(
      found.map(({ userId, active, changedAt }) => [
        userId,
        { directory: { active, changed_at: changedAt } },
      ]),
    );
  }

  restrict(query: UserQuery, state: keyof UserStates, value: boolean | null): string | undefined {
    if (state !== 'directory') return undefined;
    const isOfUser = 'directory.userId = user.userId';
    if (value === null) {
      query.andWhere((one) => {
        const own = one.subQuery().select('1').from(DirectoryState, 'directory').where(isOfUser);
        return `NOT EXISTS ${own.getQuery()}`;
      });
      return 'user';
    }
    query.innerJoin(DirectoryState, 'directory', `${isOfUser} AND directory.active = :active`, {
      active: value,
    });
    return 'directory';
  }
}
