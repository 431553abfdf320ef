import { Injectable } from '@nestjs/common';
import { AuditStore } from '../../../audit/audit.store.js';
import { OneAtATime } from '../../../platform/database/limits.js';
import type { DirectoryChange } from '../effect/directory-effects.js';
import { DirectoryTasks } from '../effect/directory-tasks.js';
import { ScimGroups } from '../groups/scim-groups.js';
import type { Directory } from '../protocol/directory.guard.js';
import { listOf, readPage, readProjection, type Projection, type Query } from '../protocol/list-query.js';
import type { ResourceKind } from '../protocol/names.js';
import { GROUP_SCHEMA, USER_SCHEMA } from '../protocol/schemas.js';
import { noResource } from '../protocol/scim-error.js';
import { ScimUsers } from '../users/scim-users.js';
import type { Body, Changed, ResourceRow, ResourceType } from './resource-rows.js';

/**
 * Users and groups of a directory (RFC 7644 §3). A change is one transaction: it locks the resource, writes
 * it, applies it to users, and ends sessions.
 */
@Injectable()
export class ScimResources {
  private readonly queue = new OneAtATime('too many changes of one resource');
  private readonly types: Readonly<Record<ResourceKind, ResourceType<ResourceRow, unknown>>>;

  constructor(
    private readonly tasks: DirectoryTasks,
    private readonly audit: AuditStore,
    users: ScimUsers,
    groups: ScimGroups,
  ) {
    this.types = { User: users, Group: groups };
  }

  async find(directory: Directory, id: string, query: Query): Promise<object> {
    const projection = readProjection(directory.kind, query);
    const row = await this.types[directory.kind].rows.find(directory.provider, id);
    if (!row) throw noResource();
    return this.answer(directory, row, projection);
  }

  async list(directory: Directory, query: Query): Promise<object> {
    const [page, projection] = [readPage(query), readProjection(directory.kind, query)];
    const [rows, total] = await this.types[directory.kind].list(directory.provider, page, projection);
    return listOf(await this.toResources(directory, rows, projection), total, page.startIndex);
  }

  async create(directory: Directory, body: Body, query: Query): Promise<object> {
    const projection = readProjection(directory.kind, query);
    const type = this.types[directory.kind];
    const sent = type.read(body);
    if (await type.rows.isFull(directory.provider)) throw type.rows.tooMany();
    const row = await this.change(directory, (change) => type.create(change, sent));
    return this.answer(directory, row, projection);
  }

  async replace(directory: Directory, id: string, body: Body, query: Query): Promise<object> {
    const projection = readProjection(directory.kind, query);
    const row = await this.update(directory, id, this.types[directory.kind].read(body));
    return this.answer(directory, row, projection);
  }

  async patchUser(directory: Directory, id: string, body: Body, query: Query): Promise<object> {
    const projection = readProjection(directory.kind, query);
    const row = await this.update(directory, id, this.types.User.readPatch(body));
    return this.answer(directory, row, projection);
  }

  /** Without the group as the answer: it may have 50,000 members. */
  async patchGroup(directory: Directory, id: string, body: Body): Promise<void> {
    await this.update(directory, id, this.types.Group.readPatch(body));
  }

  async remove(directory: Directory, id: string): Promise<void> {
    const type = this.types[directory.kind];
    await this.changeOne(directory, id, (change, before) => type.remove(change, before));
  }

  /** What is so already is not written. */
  private async update(directory: Directory, id: string, sent: unknown): Promise<ResourceRow> {
    const type = this.types[directory.kind];
    const isFull = await type.rows.isFull(directory.provider);
    return this.changeOne(directory, id, (change, before) => type.update(change, before, sent, isFull));
  }

  /** Changes a resource. Its requests wait here, not with a connection for its lock. */
  private changeOne(
    directory: Directory,
    id: string,
    work: (change: DirectoryChange, before: ResourceRow) => Promise<Changed<ResourceRow>>,
  ): Promise<ResourceRow> {
    const locked = async (change: DirectoryChange): Promise<Changed<ResourceRow>> => {
      const before = await this.types[directory.kind].rows.lock(change.manager, directory.provider, id);
      if (!before) throw noResource();
      return work(change, before);
    };
    // As long as it takes: few wait (Share).
    return this.queue.run(id, () => this.change(directory, locked), Infinity);
  }

  private async change(
    directory: Directory,
    work: (change: DirectoryChange) => Promise<Changed<ResourceRow>>,
  ): Promise<ResourceRow> {
    const { provider, origin } = directory;
    const { row, userIds, renamed } = await this.tasks.change(directory, async (change) => {
      const changed = await work(change);
      const { reason, userIds: [userId = null] = [] } = changed;
      const event = 'directory_changed';
      if (reason !== undefined)
        await this.audit.write(change.manager, [{ event, userId, provider, reason, origin }]);
      return changed;
    });
    if (renamed) await this.tasks.applyToLate(directory, renamed, userIds ?? []);
    return row;
  }

  private async answer(directory: Directory, row: ResourceRow, projection: Projection): Promise<object> {
    const [resource] = await this.toResources(directory, [row], projection);
    return resource!;
  }

  private async toResources(
    { base, kind }: Directory,
    rows: readonly ResourceRow[],
    projection: Projection,
  ): Promise<object[]> {
    const described = await this.types[kind].describe(base, rows, projection);
    return rows.map(({ id, createdAt, changedAt }, i) =>
      projection.apply({
        schemas: [kind === 'User' ? USER_SCHEMA : GROUP_SCHEMA],
        id,
        ...described[i],
        meta: {
          resourceType: kind,
          created: createdAt.toISOString(),
          lastModified: changedAt.toISOString(),
          location: `${base}/${kind}s/${id}`,
        },
      }),
    );
  }
}
