import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type EntityManager, type Repository } from 'typeorm';
import type { ScimSettings } from '../scim.settings.js';
import { Events } from '../../../platform/events.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { DirectoryFormerName } from '../users/directory-former-name.entity.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { isSameName, nameOf, toNameKey } from '../users/directory-user.store.js';
import { DirectoryName } from './directory-name.entity.js';

/** Of a sign-in without `scim_claim`: no directory user has this name. */
export const UNNAMED = '';

/** A user, and the directory user with the name of the user. */
export type Link = Pick<DirectoryName, 'userId' | 'provider' | 'name'> & { readonly directoryUserId: string };

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
    { attribute, claim }: ScimSettings,
    names: readonly string[],
  ): Promise<Map<string, string[]>> {
    const isUserId = claim === 'provider_user_id';
    const derived = (name: string): string[] => {
      if (!isUserId) return [];
      const spellings = new Set([name, toNameKey(attribute, name)]);
      return [...spellings].map((one) => deriveUserId(provider, one));
    };
    const found = new Map(names.map((name) => [name, derived(name)]));
    if (names.length === 0 || (isUserId && attribute === 'externalId')) return found;
    const keys = In(names.map((name) => toNameKey(attribute, name)));
    const named = attribute === 'userName' ? { nameKey: keys } : { name: keys };
    const byKey = new Map<string, DirectoryName[]>();
    for (const row of await manager.findBy(DirectoryName, { provider, ...named })) {
      const key = toNameKey(attribute, row.name);
      const rows = byKey.get(key);
      if (rows) rows.push(row);
      else byKey.set(key, [row]);
    }
    for (const [name, userIds] of found) {
      const rows = byKey.get(toNameKey(attribute, name)) ?? [];
      const others = rows.filter((row) => isSameName(attribute, name, row.name));
      found.set(name, [...new Set([...userIds, ...others.map(({ userId }) => userId)])]);
    }
    return found;
  }

  /** Returns the ids of the users who are linked to a directory user. */
  async linkedTo(manager: EntityManager, directoryUserId: string): Promise<string[]> {
    return (await manager.findBy(DirectoryName, { directoryUserId })).map(({ userId }) => userId);
  }

  /**
   * Returns the ids of the users whom the end of a directory user ends: linked ones, and those of its name.
   */
  async personsOf(
    manager: EntityManager,
    provider: string,
    settings: ScimSettings,
    directoryUserId: string,
  ): Promise<string[]> {
    const user = await manager.findOneBy(DirectoryUser, { id: directoryUserId });
    const name = user && nameOf(user, settings.attribute);
    const named = name ? await this.usersOf(manager, provider, settings, [name]) : undefined;
    const linked = await this.linkedTo(manager, directoryUserId);
    return [...new Set([...linked, ...(named?.get(name!) ?? [])])];
  }

  /** Links users to the directory users whose names they have. */
  async link(manager: EntityManager, links: readonly Link[]): Promise<void> {
    if (links.length === 0) return;
    const rows = await manager.findBy(DirectoryName, { userId: In(links.map(({ userId }) => userId)) });
    const present = new Map(rows.map(({ userId, directoryUserId }) => [userId, directoryUserId]));
    const others = links.filter(({ userId, directoryUserId }) => present.get(userId) !== directoryUserId);
    if (others.length === 0) return;
    const insert = manager
      .createQueryBuilder()
      .insert()
      .into(DirectoryName)
      // A row that is missing: of a user who has not signed in since the directory is on.
      .values(others.map((one) => ({ ...one, nameKey: keyOf(one), facts: null, namedAt: () => `'epoch'` })));
    await insert.orUpdate(['directory_user_id'], ['user_id']).updateEntity(false).execute();
  }

  /** Returns what `allow` has read of users at their last sign-ins, by user. */
  async factsOf(manager: EntityManager, userIds: readonly string[]) {
    const rows = userIds.length > 0 ? await manager.findBy(DirectoryName, { userId: In(userIds) }) : [];
    return new Map(rows.map(({ userId, facts }) => [userId, facts]));
  }

  find(userId: string): Promise<DirectoryName | null> {
    return this.names.findOneBy({ userId });
  }

  /** @param directoryUserId undefined: the user keeps the present link */
  async save(
    name: Pick<DirectoryName, 'userId' | 'provider' | 'name' | 'facts'>,
    directoryUserId?: string,
  ): Promise<void> {
    const row = { ...name, directoryUserId, nameKey: keyOf(name), namedAt: () => 'now()' };
    await this.names.upsert(row as never, ['userId']);
  }

  /**
   * Returns the directory user to link a user to who signs in: the one with the name. If there is none, a
   * user keeps the present link; without a link, it is the one that had the name.
   */
  async findForLink(
    provider: string,
    attribute: ScimSettings['attribute'],
    name: string,
    isLinked: boolean,
  ): Promise<string | undefined> {
    const { manager } = this.names;
    const key = toNameKey(attribute, name);
    const named = attribute === 'userName' ? { userNameKey: key } : { externalId: key };
    const user = await manager.findOneBy(DirectoryUser, { provider, ...named });
    if (user && isSameName(attribute, nameOf(user, attribute)!, name)) return user.id;
    if (isLinked) return undefined;
    return (await manager.findOneBy(DirectoryFormerName, { provider, name: key }))?.directoryUserId;
  }

  /** Returns the directory users whose name a user got since a time, by the database's clock. */
  async recentOf(
    provider: string,
    { attribute }: ScimSettings,
    ids: readonly string[],
    seconds: number,
  ): Promise<string[]> {
    const isSame =
      attribute === 'userName' ? 'known.userNameKey = one.nameKey' : 'known.externalId = one.name';
    const rows = await this.names
      .createQueryBuilder('one')
      .innerJoin(DirectoryUser, 'known', `known.provider = one.provider AND ${isSame}`)
      .select('known.id', 'id')
      .where('known.id = ANY(CAST(:ids AS uuid[])) AND one.provider = :provider', { ids, provider })
      .andWhere(`one.namedAt > now() - make_interval(secs => :seconds)`, { seconds })
      .getRawMany<{ id: string }>();
    return rows.map(({ id }) => id);
  }
}

function keyOf({ name }: Pick<DirectoryName, 'name'>): string {
  return toNameKey('userName', name);
}
