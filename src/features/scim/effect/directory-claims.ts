import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { claimMap } from '../../../platform/config/providers/claim-map.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import type { Claims } from '../../../identity/claims.js';
import { selectClaims } from '../../../provider/identity/select-claims.js';
import type { DirectoryUser } from '../users/directory-user.entity.js';
import type { UserResource } from '../users/user-resource.js';
import { DirectorySource } from './directory-source.entity.js';
import type { StandingRow } from './standing.sql.js';

/** `groups` and `roles` of a user; a name is absent if the directory never sent that attribute. */
export type DirectoryClaims = Readonly<Partial<Record<'groups' | 'roles', readonly string[]>>>;

/** The claims of a user: all, and those that fit into a token. */
export interface Rights {
  readonly whole: DirectoryClaims;
  readonly fitting: DirectoryClaims;
}

/** Users whose groups one statement reads: each may have thousands. */
const READ_AT_A_TIME = 50;

/**
 * What directory users have of rights. Parameters: the provider, and their ids; deleted ones have no group.
 */
const READ_RIGHTS = `
  SELECT one.id, held.groups, (SELECT array_agg(claim) FROM directory_sources WHERE provider = $1) AS sources
  FROM unnest(CAST($2 AS uuid[])) AS one (id) LEFT JOIN (
    SELECT member.user_id, array_agg(known.display_name ORDER BY known.display_name) AS groups
    FROM directory_members AS member JOIN directory_groups AS known ON known.id = member.group_id
    WHERE member.user_id = ANY(CAST($2 AS uuid[])) AND NOT member.removed AND NOT known.removed
      AND known.provider = $1
    GROUP BY member.user_id
  ) AS held ON held.user_id = one.id`;

type RightsRow = Pick<StandingRow, 'sources' | 'groups'> & { readonly id: string };

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
    const rights = new Map<string, Rights>();
    // Each name once, for all slices: a thousand users may have the same thousand groups.
    const names = new Map<string, string>();
    for (let at = 0; at < users.length; at += READ_AT_A_TIME) {
      const slice = new Map(users.slice(at, at + READ_AT_A_TIME).map((user) => [user.id, user]));
      const rows = await manager.query<RightsRow[]>(READ_RIGHTS, [provider, [...slice.keys()]]);
      for (const { id, sources, groups } of rows) {
        const shared = groups?.map((name) => names.get(name) ?? (names.set(name, name), name));
        const sent = { groups: shared, roles: slice.get(id)!.resource.roles };
        rights.set(id, this.rightsFrom(provider, new Set(sources), sent));
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

/** Of a user whom the directory does not know. */
export const NO_RIGHTS: DirectoryClaims = { groups: [], roles: [] };

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
