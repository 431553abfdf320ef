import { Inject, Injectable } from '@nestjs/common';
import { In, type EntityManager } from 'typeorm';
import { claimMap } from '../../../platform/config/providers/claim-map.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import type { Claims } from '../../../identity/claims.js';
import { selectClaims } from '../../../provider/identity/select-claims.js';
import { DirectoryGroup } from '../groups/directory-group.entity.js';
import { DirectoryMember } from '../groups/directory-member.entity.js';
import type { DirectoryUser } from '../users/directory-user.entity.js';
import type { UserResource } from '../users/user-resource.js';
import { DirectorySource } from './directory-source.entity.js';

/** `groups` and `roles` of a user; a name is absent if the directory never sent that attribute. */
export type DirectoryClaims = Readonly<Partial<Record<'groups' | 'roles', readonly string[]>>>;

/** The claims of a user: all, and those that fit into a token. */
interface Rights {
  readonly whole: DirectoryClaims;
  readonly fitting: DirectoryClaims;
}

/** Users whose groups one statement reads: each may have thousands. */
const READ_AT_A_TIME = 50;

/** Returns what the directories of providers say of rights (docs/directory.md#groups-and-roles). */
@Injectable()
export class DirectoryRights {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** Returns the claims of some directory users, by their ids in the directory. */
  async of(
    manager: EntityManager,
    provider: string,
    users: readonly Pick<DirectoryUser, 'id' | 'resource'>[],
  ): Promise<ReadonlyMap<string, Rights>> {
    const sources = new Set(await this.namesOf(manager, provider));
    const rights = new Map<string, Rights>();
    const known = new Map<string, string>();
    for (let at = 0; at < users.length; at += READ_AT_A_TIME) {
      const slice = users.slice(at, at + READ_AT_A_TIME);
      const ids = slice.map(({ id }) => id);
      const groups = sources.has('groups') ? await groupsOf(manager, provider, ids, known) : undefined;
      for (const { id, resource } of slice) {
        const sent = { groups: groups?.get(id), roles: resource.roles };
        rights.set(id, this.rightsFrom(provider, sources, sent));
      }
    }
    return rights;
  }

  /** Returns the names of the claims that are the directory's, for the users it knows. */
  async namesOf(manager: EntityManager, provider: string): Promise<readonly string[]> {
    return (await manager.findBy(DirectorySource, { provider })).map(({ claim }) => claim);
  }

  /**
   * Remembers that a directory sends an attribute: from then on, it replaces the provider's claim of all its
   * users.
   * @returns whether this is the first time
   */
  async begin(manager: EntityManager, provider: string, claim: DirectorySource['claim']): Promise<boolean> {
    if (await manager.existsBy(DirectorySource, { provider, claim })) return false;
    await manager
      .createQueryBuilder()
      .insert()
      .into(DirectorySource)
      .values({ provider, claim })
      .orIgnore()
      .execute();
    return true;
  }

  /** @param sources the claims that the directory has ever sent */
  rightsFrom(
    provider: string,
    sources: ReadonlySet<string>,
    { groups, roles }: { groups: readonly string[] | undefined; roles: UserResource['roles'] | undefined },
  ): Rights {
    const sent = {
      ...(sources.has('groups') && { groups: groups ?? [] }),
      ...(sources.has('roles') && { roles: (roles ?? []).map(({ value }) => value) }),
    };
    const { whole, accepted: fitting } = selectClaims(sent, this.mapsOf(provider));
    return { whole, fitting };
  }

  /** The settings `map_groups` and `map_roles`. */
  private mapsOf(provider: string) {
    const found = this.settings.providers.get(provider);
    const entries = ['groups', 'roles'].flatMap((name) => {
      const text = found?.options[`map_${name}`];
      return text === undefined ? [] : [[name, claimMap.parse(text)] as const];
    });
    return new Map(entries);
  }
}

/** Returns claims in which the directory's lists have replaced the provider's. */
export function laidOver(claims: Claims, { groups, roles }: DirectoryClaims): Claims {
  const replaced = new Map(Object.entries(claims));
  for (const [name, list] of Object.entries({ groups, roles })) {
    if (list === undefined) continue;
    if (list.length > 0) replaced.set(name, list);
    else replaced.delete(name);
  }
  return Object.fromEntries(replaced);
}

/**
 * Returns the names of the groups of users, sorted.
 * @param known each name once, for all slices: a thousand users may have the same thousand groups
 */
async function groupsOf(
  manager: EntityManager,
  provider: string,
  userIds: readonly string[],
  known: Map<string, string>,
): Promise<Map<string, string[]>> {
  const members = manager
    .createQueryBuilder(DirectoryMember, 'member')
    .innerJoin(DirectoryGroup, 'one', 'one.id = member.groupId')
    .select(['member.userId AS "userId"', 'one.displayName AS name'])
    .where({ userId: In(userIds), removed: false })
    .andWhere('NOT one.removed AND one.provider = :provider', { provider })
    .orderBy('one.displayName');
  const byUser = new Map<string, string[]>();
  for (const { userId, name: read } of await members.getRawMany<{ userId: string; name: string }>()) {
    const name = known.get(read) ?? read;
    known.set(name, name);
    const names = byUser.get(userId);
    if (names) names.push(name);
    else byUser.set(userId, [name]);
  }
  return byUser;
}
