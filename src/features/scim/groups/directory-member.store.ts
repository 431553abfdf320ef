import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, In, MoreThan, type EntityManager, type Repository } from 'typeorm';
import { DirectoryMember } from './directory-group.entity.js';
import { noSuchMember } from './group-resource.js';

/** Locks users of a provider in one order. Parameters: the provider, and ids. */
const LOCK_USERS = `
  SELECT count(*)::int AS found FROM (
    SELECT FROM directory_users WHERE provider = $1 AND id = ANY(CAST($2 AS uuid[])) ORDER BY id FOR KEY SHARE
  ) AS locked`;

/** Parameters: the group, and ids of users. */
const INSERT_MEMBERS = `
  INSERT INTO directory_members (group_id, user_id, removed)
  SELECT CAST($1 AS uuid), user_id, false FROM unnest(CAST($2 AS uuid[])) AS added (user_id)
  ON CONFLICT (group_id, user_id) DO UPDATE SET removed = false`;

const CHUNK = 10_000;

/** What a change of a group did to its members; each user once. */
export interface MemberChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

@Injectable()
export class DirectoryMembers {
  constructor(@InjectRepository(DirectoryMember) private readonly members: Repository<DirectoryMember>) {}

  /** Returns the members of the groups that have any. */
  async of(groupIds: readonly string[]): Promise<Map<string, string[]>> {
    if (groupIds.length === 0) return new Map();
    const rows = await this.members
      .createQueryBuilder('member')
      .select('member.groupId', 'id')
      .addSelect(`string_agg(CAST(member.userId AS text), ',' ORDER BY member.userId)`, 'ids')
      .where({ groupId: In(groupIds), removed: false })
      .groupBy('member.groupId')
      .getRawMany<{ id: string; ids: string }>();
    return new Map(rows.map(({ id, ids }) => [id, ids.split(',')]));
  }

  /** Which of these users are members now; without `userIds` all members. */
  async present(manager: EntityManager, groupId: string, userIds?: readonly string[]): Promise<Set<string>> {
    if (userIds?.length === 0) return new Set();
    const query = manager
      .createQueryBuilder(DirectoryMember, 'member')
      .select(`string_agg(CAST(member.userId AS text), ',')`, 'ids') // one row: a group has 50,000 members
      .where({ groupId, removed: false });
    if (userIds) query.andWhere('member.userId = ANY(CAST(:userIds AS uuid[]))', { userIds });
    const { ids } = (await query.getRawOne<{ ids: string | null }>())!;
    return new Set(ids?.split(','));
  }

  /**
   * Adds users who are no members. The lock keeps them from being deleted meanwhile.
   * @throws ScimError `invalidValue` if one is no user of this directory
   */
  async add(
    manager: EntityManager,
    provider: string,
    groupId: string,
    userIds: readonly string[],
  ): Promise<void> {
    for (let at = 0; at < userIds.length; at += CHUNK) {
      const chunk = userIds.slice(at, at + CHUNK).toSorted();
      const [{ found }] = (await manager.query(LOCK_USERS, [provider, chunk])) as [{ found: number }];
      if (found < chunk.length) throw noSuchMember();
      await manager.query(INSERT_MEMBERS, [groupId, chunk]);
    }
  }

  /** @param isMarked the rows stay until the claims of their users are applied (`forgetRemoved`) */
  async remove(
    manager: EntityManager,
    groupId: string,
    userIds: readonly string[],
    isMarked: boolean,
  ): Promise<void> {
    for (let at = 0; at < userIds.length; at += CHUNK) {
      const where = { groupId, userId: Any(userIds.slice(at, at + CHUNK)) };
      if (isMarked) await manager.update(DirectoryMember, where, { removed: true });
      else await manager.delete(DirectoryMember, where);
    }
  }

  /** Returns a slice of the users whom a group has, or had until their claims are applied. */
  async slice(
    manager: EntityManager,
    groupId: string,
    after: string | null,
    most: number,
  ): Promise<string[]> {
    const rows = await manager.find(DirectoryMember, {
      select: { userId: true },
      where: { groupId, ...(after !== null && { userId: MoreThan(after) }) },
      order: { userId: 'ASC' },
      take: most,
    });
    return rows.map(({ userId }) => userId);
  }

  /** Deletes the rows of users who are members no more. @param all the whole group is gone */
  async forgetRemoved(
    manager: EntityManager,
    groupId: string,
    userIds: readonly string[],
    all: boolean,
  ): Promise<void> {
    if (userIds.length === 0) return;
    await manager.delete(DirectoryMember, { groupId, userId: In(userIds), ...(!all && { removed: true }) });
  }
}
