import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { UUID } from '../../../platform/http/parameters/uuid.js';
import { MOST_CHANGED } from '../../../user/user-changes.store.js';
import { DirectoryRights } from '../effect/directory-claims.js';
import { DirectoryEffects, type DirectoryChange } from '../effect/directory-effects.js';
import type { Page, Projection } from '../protocol/list-query.js';
import { readOperations } from '../protocol/normalise.js';
import type { Column } from '../protocol/where.js';
import { ResourceRows, type Body, type Changed, type ResourceType } from '../resources/resource-rows.js';
import { DirectoryGroup } from './directory-group.entity.js';
import { DirectoryMembers, type MemberChange } from './directory-member.store.js';
import {
  MOST_MEMBERS,
  readGroup,
  readGroupChange,
  tooManyMembers,
  type GroupChange,
} from './group-resource.js';

const MOST_GROUPS = 50_000;
/**
 * Members that the groups of one page have at most; a page may be shorter than asked for (RFC 7644 §3.4.2.4).
 */
const MOST_LISTED = 20_000;

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

const NONE: MemberChange = { added: [], removed: [] };

@Injectable()
export class ScimGroups implements ResourceType<DirectoryGroup, GroupChange> {
  readonly rows: ResourceRows<DirectoryGroup>;

  constructor(
    dataSource: DataSource,
    private readonly members: DirectoryMembers,
    private readonly effects: DirectoryEffects,
    private readonly rights: DirectoryRights,
  ) {
    this.rows = new ResourceRows(dataSource.manager, {
      kind: 'Group',
      entity: DirectoryGroup,
      columns: COLUMNS,
      present: { removed: false },
      count: (provider) => dataSource.manager.countBy(DirectoryGroup, { provider }),
      most: MOST_GROUPS,
      counted: 'groups',
    });
  }

  read(body: Body): GroupChange {
    return readGroup(body);
  }

  readPatch(body: Body): GroupChange {
    return readGroupChange(readOperations('Group', body));
  }

  /** Reads the first groups with few members together, and one at least. */
  async list(provider: string, page: Page, projection: Projection): Promise<[DirectoryGroup[], number]> {
    const [groups, total] = await this.rows.list(provider, page);
    let count = 0;
    const isBeyond = ({ memberCount }: DirectoryGroup, i: number): boolean =>
      (count += memberCount) > MOST_LISTED && i > 0;
    const end = projection.includes('members') ? groups.findIndex(isBeyond) : -1;
    return [end === -1 ? groups : groups.slice(0, end), total];
  }

  async describe(
    base: string,
    groups: readonly DirectoryGroup[],
    projection: Projection,
  ): Promise<readonly object[]> {
    const hasMembers = projection.includes('members');
    const members = await this.members.of(hasMembers ? groups.map(({ id }) => id) : []);
    return groups.map(({ id, externalId, displayName }) => ({
      ...(externalId !== null && { externalId }),
      displayName,
      ...(members.has(id) && {
        members: members.get(id)!.map((value) => ({ value, $ref: `${base}/Users/${value}` })),
      }),
    }));
  }

  async create(change: DirectoryChange, sent: GroupChange): Promise<Changed<DirectoryGroup>> {
    const { manager, directory } = change;
    const added = [...sent.added];
    const group = {
      id: randomUUID(),
      provider: directory.provider,
      ...namesOf(sent.displayName!, sent.externalId ?? null),
      memberCount: added.length,
      removed: false,
    };
    await this.rows.requireUnique(manager, group, { externalId: group.externalId });
    if (added.length > MOST_MEMBERS) throw tooManyMembers();
    const created = await this.rows.insert(manager, group);
    return this.apply(change, 'created', created, { added, removed: [] });
  }

  async update(
    change: DirectoryChange,
    before: DirectoryGroup,
    sent: GroupChange,
  ): Promise<Changed<DirectoryGroup>> {
    const { manager } = change;
    const { displayName = before.displayName, externalId = before.externalId } = sent;
    const isRenamed = displayName !== before.displayName;
    if (externalId !== before.externalId) await this.rows.requireUnique(manager, before, { externalId });
    const { members, memberCount } = await this.readMembers(change, before, sent);
    const isSame = members.added.length + members.removed.length === 0;
    if (isSame && !isRenamed && externalId === before.externalId) return { row: before };
    const values = { ...namesOf(displayName, externalId), memberCount };
    const after = await this.rows.update(manager, before, values);
    return this.apply(change, 'changed', after, members, isRenamed);
  }

  async remove(change: DirectoryChange, before: DirectoryGroup): Promise<Changed<DirectoryGroup>> {
    const gone = await this.rows.update(change.manager, before, { removed: true });
    return this.apply(change, 'deleted', gone, NONE, true);
  }

  /**
   * Returns the difference, and how many members there are then.
   * @throws ScimError `invalidValue` for too many members
   */
  private async readMembers(
    { manager }: DirectoryChange,
    { id, memberCount }: DirectoryGroup,
    { replacesMembers, added, removed }: GroupChange,
  ): Promise<{ readonly members: MemberChange; readonly memberCount: number }> {
    const touched = replacesMembers ? undefined : [...added, ...removed];
    const present = await this.members.present(manager, id, touched);
    const members = {
      added: [...added].filter((one) => !present.has(one)),
      removed: [...present].filter((one) => (replacesMembers ? !added.has(one) : removed.has(one))),
    };
    const difference = members.added.length - members.removed.length;
    let count = memberCount;
    // The deletion of a user does not change the count.
    if (memberCount + members.added.length > MOST_MEMBERS) {
      count = (await this.members.present(manager, id)).size;
      if (count + difference > MOST_MEMBERS) throw tooManyMembers();
    }
    return { members, memberCount: Math.max(0, count + difference) };
  }

  /**
   * Writes members, and applies the groups of the users concerned: at once, or by a task if they are many.
   * @param isForAll all members are concerned, not only the changed ones
   * @throws ScimError `invalidValue` if an added member is no user
   */
  private async apply(
    change: DirectoryChange,
    name: string,
    group: DirectoryGroup,
    { added, removed }: MemberChange,
    isForAll = false,
  ): Promise<Changed<DirectoryGroup>> {
    const { manager, directory, later } = change;
    const { provider } = directory;
    const { id } = group;
    if (await this.rights.begin(manager, provider, 'groups')) {
      later('everyone', provider);
    }
    const concerned = added.length + removed.length + (isForAll ? group.memberCount : 0);
    const isLarge = concerned > MOST_CHANGED;
    const others = isForAll && !isLarge ? await this.members.present(manager, id) : [];
    const ids = isLarge ? [] : [...new Set([...others, ...added, ...removed])];
    const users = await this.effects.lock(change, ids);
    await this.members.add(manager, provider, id, added);
    await this.members.remove(manager, id, removed, isLarge);
    if (group.removed && !isLarge) {
      await this.members.forgetRemoved(manager, id, [...others], true);
      await manager.delete(DirectoryGroup, { id });
    }
    if (isLarge) later('group', id);
    else await this.effects.apply(change, users);
    return {
      row: group,
      reason: `group ${name}: ${id}, ${added.length} added, ${removed.length} removed`,
    };
  }
}

function namesOf(displayName: string, externalId: string | null) {
  return { displayName, displayNameKey: displayName.toLowerCase(), externalId };
}
