import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type EntityManager, type Repository } from 'typeorm';
import type { ScimSettings } from '../../config/providers/provider-settings.js';
import { Events } from '../../events.js';
import { deriveUserId } from '../../identity/user-id.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryName } from './directory-name.entity.js';

/** Of a sign-in without `scim_claim`: no directory user has this name. */
export const UNNAMED = '';

/** Which user is who in the directory. */
@Injectable()
export class DirectoryNames {
  constructor(
    @InjectRepository(DirectoryName) private readonly names: Repository<DirectoryName>,
    events: Events,
  ) {
    events.on('audit.recorded', (recorded) => {
      for (const { event, user_id: userId } of recorded) {
        if (event !== 'user_removed' || userId === undefined) continue;
        void this.names.delete({ userId }).catch(() => undefined);
      }
    });
  }

  /**
   * Returns the ids of the users with these names, by name. The id of a user follows from the user id at the
   * provider, also before the first sign-in.
   */
  async usersOf(
    manager: EntityManager,
    provider: string,
    { claim }: ScimSettings,
    names: readonly string[],
  ): Promise<Map<string, string[]>> {
    if (claim === 'provider_user_id') {
      return new Map(names.map((name) => [name, [deriveUserId(provider, name)]]));
    }
    const found = new Map<string, string[]>();
    if (names.length === 0) return found;
    const rows = await manager.findBy(DirectoryName, { provider, name: In(names) });
    for (const { userId, name } of rows) found.set(name, [...(found.get(name) ?? []), userId]);
    return found;
  }

  /** Returns what `allow` has read of users at their last sign-ins, by user. */
  async factsOf(manager: EntityManager, userIds: readonly string[]) {
    const rows = userIds.length > 0 ? await manager.findBy(DirectoryName, { userId: In(userIds) }) : [];
    return new Map(rows.map(({ userId, facts }) => [userId, facts]));
  }

  find(userId: string): Promise<DirectoryName | null> {
    return this.names.findOneBy({ userId });
  }

  async save(name: Omit<DirectoryName, 'namedAt'>): Promise<void> {
    await this.names.upsert({ ...name, namedAt: () => 'now()' } as never, ['userId']);
  }

  /** Returns the directory users whose name a user got since a time, by the database's clock. */
  async recentOf(
    provider: string,
    { attribute }: ScimSettings,
    ids: readonly string[],
    seconds: number,
  ): Promise<string[]> {
    const rows = await this.names
      .createQueryBuilder('one')
      .innerJoin(DirectoryUser, 'known', `known.provider = one.provider AND known.${attribute} = one.name`)
      .select('known.id', 'id')
      .where('known.id = ANY(CAST(:ids AS uuid[])) AND one.provider = :provider', { ids, provider })
      .andWhere(`one.namedAt > now() - make_interval(secs => :seconds)`, { seconds })
      .getRawMany<{ id: string }>();
    return rows.map(({ id }) => id);
  }
}
