import { Injectable } from '@nestjs/common';
import { DataSource, In, Raw, type EntityManager } from 'typeorm';
import type { ScimSettings } from '../scim.settings.js';
import { deriveUserId } from '../../../identity/user-id.js';
import { USER_ID } from '../../../provider/identity/identity.js';
import { Session } from '../../../token/sessions/session.entity.js';
import { UserStore } from '../../../user/user.store.js';
import { DirectoryFormerName } from '../users/directory-former-name.entity.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { isSameName, nameOf, toNameKey } from '../users/directory-user.store.js';
import { DirectoryLink } from './directory-link.entity.js';

/** Of a sign-in without `scim_claim`: no directory user has this name. */
export const UNNAMED = '';

/** A user, and the directory user with the name of the user. */
export type Link = Pick<DirectoryLink, 'userId' | 'directoryUserId'>;

/** Which user is who in the directory. */
@Injectable()
export class DirectoryNames {
  constructor(
    private readonly dataSource: DataSource,
    private readonly users: UserStore,
  ) {}

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
    const isUserId = claim === USER_ID;
    const derived = (name: string): string[] => {
      if (!isUserId) return [];
      const spellings = new Set([name, toNameKey(attribute, name)]);
      return [...spellings].map((one) => deriveUserId(provider, one));
    };
    const found = new Map(names.map((name) => [name, derived(name)]));
    if (names.length === 0 || (isUserId && attribute === 'externalId')) return found;
    const users = await this.users.findByName(manager, provider, claim, names);
    for (const [name, userIds] of found) {
      const others = users.filter(({ identity }) =>
        isSameName(attribute, name, identity?.names?.[claim] ?? UNNAMED),
      );
      found.set(name, [...new Set([...userIds, ...others.map(({ userId }) => userId)])]);
    }
    return found;
  }

  /** Returns the ids of the users who are linked to a directory user. */
  async linkedTo(manager: EntityManager, directoryUserId: string): Promise<string[]> {
    return (await manager.findBy(DirectoryLink, { directoryUserId })).map(({ userId }) => userId);
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
    const rows = await manager.findBy(DirectoryLink, { userId: In(links.map(({ userId }) => userId)) });
    const present = new Map(rows.map(({ userId, directoryUserId }) => [userId, directoryUserId]));
    const others = links.filter(({ userId, directoryUserId }) => present.get(userId) !== directoryUserId);
    if (others.length > 0) await manager.upsert(DirectoryLink, others, ['userId']);
  }

  /** @returns the directory user to whom a user is linked */
  async linkOf(userId: string): Promise<string | undefined> {
    return (await this.dataSource.manager.findOneBy(DirectoryLink, { userId }))?.directoryUserId;
  }

  /**
   * Links a user who signs in: to the directory user with the name. If there is none, the user keeps the
   * present link; without a link, it is the one that had the name.
   * @returns whether the link is another one
   */
  async linkByName(
    userId: string,
    provider: string,
    { attribute }: ScimSettings,
    name: string,
    present: string | undefined,
  ): Promise<boolean> {
    const { manager } = this.dataSource;
    const key = toNameKey(attribute, name);
    const named = attribute === 'userName' ? { userNameKey: key } : { externalId: key };
    const user = await manager.findOneBy(DirectoryUser, { provider, ...named });
    const isNamed = user && isSameName(attribute, nameOf(user, attribute)!, name);
    if (!isNamed && present !== undefined) return false;
    const directoryUserId = isNamed
      ? user.id
      : (await manager.findOneBy(DirectoryFormerName, { provider, name: key }))?.directoryUserId;
    if (directoryUserId === undefined || directoryUserId === present) return false;
    await manager.upsert(DirectoryLink, { userId, directoryUserId }, ['userId']);
    return true;
  }

  /**
   * Returns those of some directory users whose users have begun a session lately, by the database's clock.
   */
  async recentOf(
    provider: string,
    settings: ScimSettings,
    ids: readonly string[],
    seconds: number,
  ): Promise<string[]> {
    const { manager } = this.dataSource;
    const known = await manager.findBy(DirectoryUser, { id: In(ids) });
    const names = known.flatMap((one) => nameOf(one, settings.attribute) ?? []);
    const byName = await this.usersOf(manager, provider, settings, names);
    const userIds = [...byName.values()].flat();
    const since = { createdAt: Raw((at) => `${at} > now() - make_interval(secs => :seconds)`, { seconds }) };
    const recent = await manager.find(Session, {
      select: { userId: true },
      where: { userId: In(userIds), ...since },
    });
    const isRecent = new Set(recent.map(({ userId }) => userId));
    return known
      .filter((one) => byName.get(nameOf(one, settings.attribute) ?? '')?.some((id) => isRecent.has(id)))
      .map(({ id }) => id);
  }
}
