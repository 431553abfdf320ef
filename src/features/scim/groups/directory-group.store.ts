import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Not, type EntityManager, type Repository } from 'typeorm';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import type { Page } from '../protocol/list-query.js';
import { notUnique, ScimError } from '../protocol/scim-error.js';
import { applyFilter, type Column } from '../protocol/where.js';
import { DirectoryGroup } from './directory-group.entity.js';

const MOST_GROUPS = 50_000;

const COLUMNS: Readonly<Record<string, Column>> = {
  id: { kind: 'id', sql: 'one.id' },
  externalId: { kind: 'text', sql: 'one.externalId', isKey: false },
  displayName: { kind: 'text', sql: 'one.displayNameKey', isKey: true },
  members: {
    kind: 'list',
    condition: ({ value, ...others }, bind) => {
      if (Object.keys(others).length > 0 || value === undefined) return undefined;
      if (!UUID.test(value)) return 'FALSE';
      return `EXISTS (SELECT FROM directory_members AS member
        WHERE member.group_id = one.id AND NOT member.removed AND member.user_id = ${bind(value)})`;
    },
  },
};

/** Rows of groups. */
@Injectable()
export class DirectoryGroupStore {
  constructor(@InjectRepository(DirectoryGroup) private readonly groups: Repository<DirectoryGroup>) {}

  async find(provider: string, id: string): Promise<DirectoryGroup | undefined> {
    return (await this.groups.findOneBy({ provider, id, removed: false })) ?? undefined;
  }

  /** Stable order: the oldest first. */
  async list(provider: string, { filter, startIndex, count }: Page): Promise<[DirectoryGroup[], number]> {
    const query = this.groups.createQueryBuilder('one').where({ provider, removed: false });
    if (filter) applyFilter(query, filter, 'Group', COLUMNS);
    if (count === 0) return [[], await query.getCount()];
    query
      .orderBy('one.createdAt')
      .addOrderBy('one.id')
      .offset(startIndex - 1)
      .limit(count);
    return query.getManyAndCount();
  }

  /** Locks a group for a change, so that concurrent changes follow each other. */
  async lock(manager: EntityManager, provider: string, id: string): Promise<DirectoryGroup | undefined> {
    const where = { provider, id, removed: false };
    const lock = { mode: 'for_no_key_update' } as const;
    return (await manager.findOne(DirectoryGroup, { where, lock })) ?? undefined;
  }

  /** @throws ScimError `uniqueness` */
  async requireUnique(
    manager: EntityManager,
    provider: string,
    externalId: string | null,
    own?: string,
  ): Promise<void> {
    if (externalId === null) return;
    const where = { provider, externalId, removed: false, ...(own !== undefined && { id: Not(own) }) };
    if (await manager.existsBy(DirectoryGroup, where)) throw notUnique('externalId');
  }

  /** @throws ScimError beyond the limit */
  async requireRoom(manager: EntityManager, provider: string): Promise<void> {
    if ((await manager.countBy(DirectoryGroup, { provider })) < MOST_GROUPS) return;
    throw new ScimError(403, `a directory must not have more than ${MOST_GROUPS} groups`);
  }

  async insert(
    manager: EntityManager,
    provider: string,
    displayName: string,
    externalId: string | null,
  ): Promise<DirectoryGroup> {
    const id = randomUUID();
    const displayNameKey = displayName.toLowerCase();
    await manager.insert(DirectoryGroup, { id, provider, displayName, displayNameKey, externalId });
    return manager.findOneByOrFail(DirectoryGroup, { id });
  }

  async update(
    manager: EntityManager,
    { id }: DirectoryGroup,
    change: Partial<Pick<DirectoryGroup, 'displayName' | 'externalId' | 'memberCount' | 'removed'>>,
  ): Promise<DirectoryGroup> {
    const { displayName } = change;
    await manager.update(
      DirectoryGroup,
      { id },
      {
        ...change,
        ...(displayName !== undefined && { displayNameKey: displayName.toLowerCase() }),
        changedAt: () => 'now()',
      },
    );
    return manager.findOneByOrFail(DirectoryGroup, { id });
  }

  async remove(manager: EntityManager, id: string): Promise<void> {
    await manager.delete(DirectoryGroup, { id });
  }
}
