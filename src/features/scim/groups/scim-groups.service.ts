import { Injectable } from '@nestjs/common';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { OneAtATime } from '../../../platform/database/limits.js';
import { DirectoryEffects, type Followup, SLICE } from '../effect/directory-effects.js';
import type { Directory } from '../protocol/directory.guard.js';
import { listOf, readPage, readProjection, type Projection, type Query } from '../protocol/list-query.js';
import { readOperations } from '../protocol/normalise.js';
import { GROUP_SCHEMA } from '../protocol/schemas.js';
import { noResource } from '../protocol/scim-error.js';
import type { DirectoryGroup } from './directory-group.entity.js';
import { DirectoryGroupStore } from './directory-group.store.js';
import { DirectoryMembers, type MemberChange } from './directory-member.store.js';
import {
  MOST_MEMBERS,
  readGroup,
  readGroupChange,
  tooManyMembers,
  type GroupChange,
} from './group-resource.js';

type Body = Readonly<Record<string, unknown>>;

/**
 * Members that the groups of one page have at most; a page may be shorter than asked for (RFC 7644 §3.4.2.4).
 */
const MOST_LISTED = 20_000;

/**
 * Groups of a directory (RFC 7644 §3). Each change is one transaction, with its audit event and its effect.
 */
@Injectable()
export class ScimGroups {
  private readonly queue = new OneAtATime('too many changes of one group');

  constructor(
    private readonly groups: DirectoryGroupStore,
    private readonly members: DirectoryMembers,
    private readonly effects: DirectoryEffects,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
  ) {}

  async find(directory: Directory, id: string, query: Query): Promise<object> {
    const projection = readProjection('Group', query);
    const group = await this.groups.find(directory.provider, id);
    if (!group) throw noResource();
    const [resource] = await this.toResources(directory, [group], projection);
    return resource!;
  }

  async list(directory: Directory, query: Query): Promise<object> {
    const [page, projection] = [readPage(query), readProjection('Group', query)];
    const [groups, total] = await this.groups.list(directory.provider, page);
    const listed = projection.includes('members') ? beginningOf(groups) : groups;
    return listOf(await this.toResources(directory, listed, projection), total, page.startIndex);
  }

  async create(directory: Directory, body: Body, query: Query): Promise<object> {
    const projection = readProjection('Group', query);
    const sent = readGroup(body);
    const { provider } = directory;
    const group = await this.inTransaction(directory, async (transaction) => {
      const { manager } = transaction;
      await this.groups.requireRoom(manager, provider);
      const externalId = sent.externalId ?? null;
      await this.groups.requireUnique(manager, provider, externalId);
      const created = await this.groups.insert(manager, provider, sent.displayName, externalId);
      const change = await this.changeMembers(transaction, directory, created, sent);
      const result = await this.counted(transaction, created, change);
      return {
        result,
        followup: await this.applied(transaction, directory, 'created', result, change, true),
      };
    });
    const [resource] = await this.toResources(directory, [group], projection);
    return resource!;
  }

  async replace(directory: Directory, id: string, body: Body, query: Query): Promise<object> {
    const projection = readProjection('Group', query);
    const group = await this.update(directory, id, readGroup(body));
    const [resource] = await this.toResources(directory, [group], projection);
    return resource!;
  }

  async patch(directory: Directory, id: string, body: Body): Promise<void> {
    await this.update(directory, id, readGroupChange(readOperations('Group', body)));
  }

  async remove(directory: Directory, id: string): Promise<void> {
    const { provider } = directory;
    await this.inTransaction(
      directory,
      async (transaction) => {
        const { manager } = transaction;
        const group = await this.groups.lock(manager, provider, id);
        if (!group) throw noResource();
        const gone = await this.groups.update(manager, group, { removed: true });
        const none = { added: [], removed: [] };
        const followup = await this.applied(transaction, directory, 'deleted', gone, none, true);
        return { result: undefined, followup };
      },
      id,
    );
  }

  /** Changes a group; what is so already is not written. */
  private async update(directory: Directory, id: string, sent: GroupChange): Promise<DirectoryGroup> {
    const { provider } = directory;
    return this.inTransaction(
      directory,
      async (transaction) => {
        const { manager } = transaction;
        const before = await this.groups.lock(manager, provider, id);
        if (!before) throw noResource();
        const { displayName = before.displayName, externalId = before.externalId } = sent;
        const isRenamed = displayName !== before.displayName;
        const isOther = isRenamed || externalId !== before.externalId;
        if (isOther) await this.groups.requireUnique(manager, provider, externalId, id);
        const change = await this.changeMembers(transaction, directory, before, sent);
        const isSame = !isOther && change.added.length + change.removed.length === 0;
        if (isSame) return { result: before, followup: this.effects.nothing };
        const renamed = isOther
          ? await this.groups.update(manager, before, { displayName, externalId })
          : before;
        const after = await this.counted(transaction, renamed, change);
        const followup = await this.applied(transaction, directory, 'changed', after, change, isRenamed);
        return { result: after, followup };
      },
      id,
    );
  }

  /**
   * Writes the difference only.
   * @throws ScimError `invalidValue` for too many members, or one who is no user
   */
  private async changeMembers(
    { manager }: ChannelTransaction,
    { provider }: Directory,
    group: DirectoryGroup,
    { replacesMembers, added, removed }: GroupChange,
  ): Promise<MemberChange> {
    const { id } = group;
    const touched = replacesMembers ? undefined : [...added, ...removed];
    const present = await this.members.present(manager, id, touched);
    const change = {
      added: [...added].filter((one) => !present.has(one)),
      removed: [...present].filter((one) => (replacesMembers ? !added.has(one) : removed.has(one))),
    };
    if (replacesMembers) {
      if (added.size > MOST_MEMBERS) throw tooManyMembers();
    } else if (group.memberCount + change.added.length > MOST_MEMBERS) {
      const count = (await this.members.present(manager, id)).size;
      group.memberCount = count;
      if (count + change.added.length - change.removed.length > MOST_MEMBERS) throw tooManyMembers();
    }
    await this.members.add(manager, provider, id, change.added);
    const isMarked = change.added.length + change.removed.length > SLICE;
    await this.members.remove(manager, id, change.removed, isMarked);
    return change;
  }

  private async counted(
    { manager }: ChannelTransaction,
    group: DirectoryGroup,
    { added, removed }: MemberChange,
  ): Promise<DirectoryGroup> {
    if (added.length + removed.length === 0) return group;
    const memberCount = Math.max(0, group.memberCount + added.length - removed.length);
    return this.groups.update(manager, group, { memberCount });
  }

  /** @param id of the group that is changed: its requests wait here, not with a connection for its lock */
  private async inTransaction<Result>(
    directory: Directory,
    work: (transaction: ChannelTransaction) => Promise<{ result: Result; followup: Followup }>,
    id?: string,
  ): Promise<Result> {
    const change = () => this.history.transaction(work);
    // As long as it takes: few wait (Share).
    const { result, followup } = await (id === undefined ? change() : this.queue.run(id, change, Infinity));
    await this.effects.finish(directory, followup);
    return result;
  }

  /** @param isForAll all members are concerned, not only those of the change */
  private async applied(
    transaction: ChannelTransaction,
    directory: Directory,
    name: 'created' | 'changed' | 'deleted',
    group: DirectoryGroup,
    change: MemberChange,
    isForAll: boolean,
  ): Promise<Followup> {
    const { provider, origin } = directory;
    const followup = await this.effects.groupChanged(transaction, directory, group, change, isForAll);
    const counts = `${change.added.length} added, ${change.removed.length} removed`;
    const reason = `group ${name}: ${group.id}, ${counts}`;
    await this.audit.write(transaction.manager, [
      { event: 'directory_changed', userId: null, provider, reason, origin },
    ]);
    return followup;
  }

  private async toResources(
    { base }: Directory,
    groups: readonly DirectoryGroup[],
    projection: Projection,
  ): Promise<object[]> {
    const ids = projection.includes('members') ? groups.map(({ id }) => id) : [];
    const members = await this.members.of(ids);
    return groups.map((group) => projection.apply(toResource(base, group, members.get(group.id))));
  }
}

/** Returns the first groups with few members together, and one at least. */
function beginningOf(groups: readonly DirectoryGroup[]): readonly DirectoryGroup[] {
  let count = 0;
  const end = groups.findIndex(({ memberCount }, i) => (count += memberCount) > MOST_LISTED && i > 0);
  return end === -1 ? groups : groups.slice(0, end);
}

function toResource(
  base: string,
  { id, displayName, externalId, createdAt, changedAt }: DirectoryGroup,
  members: readonly string[] = [],
): object {
  return {
    schemas: [GROUP_SCHEMA],
    id,
    ...(externalId !== null && { externalId }),
    displayName,
    ...(members.length > 0 && {
      members: members.map((value) => ({ value, $ref: `${base}/Users/${value}` })),
    }),
    meta: {
      resourceType: 'Group',
      created: createdAt.toISOString(),
      lastModified: changedAt.toISOString(),
      location: `${base}/Groups/${id}`,
    },
  };
}
