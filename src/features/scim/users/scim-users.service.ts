import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { DirectoryEffects, type Followup } from '../effect/directory-effects.js';
import { DirectoryMembers } from '../groups/directory-member.store.js';
import type { Directory } from '../protocol/directory.guard.js';
import { listOf, readPage, readProjection, type Query } from '../protocol/list-query.js';
import { readOperations } from '../protocol/normalise.js';
import { USER_SCHEMA } from '../protocol/schemas.js';
import { noResource } from '../protocol/scim-error.js';
import type { DirectoryUser } from './directory-user.entity.js';
import { DirectoryUserStore, tooManyUsers } from './directory-user.store.js';
import { patchUser } from './user-patch.js';
import { readUser, type UserResource } from './user-resource.js';

type Body = Readonly<Record<string, unknown>>;
type Change = 'created' | 'changed' | 'activated' | 'deactivated' | 'deleted';

/**
 * Users of a directory (RFC 7644 §3). Each change is one transaction, with its audit event and its effect.
 */
@Injectable()
export class ScimUsers {
  constructor(
    private readonly users: DirectoryUserStore,
    private readonly members: DirectoryMembers,
    private readonly effects: DirectoryEffects,
    private readonly history: ChannelHistory,
    private readonly audit: AuditStore,
  ) {}

  async find({ provider, base }: Directory, id: string, query: Query): Promise<object> {
    const projection = readProjection('User', query);
    const user = await this.users.find(provider, id);
    if (!user) throw noResource();
    return projection.apply(toResource(base, user));
  }

  async list({ provider, base }: Directory, query: Query): Promise<object> {
    const [page, projection] = [readPage(query), readProjection('User', query)];
    const [users, total] = await this.users.list(provider, page);
    return listOf(
      users.map((user) => projection.apply(toResource(base, user))),
      total,
      page.startIndex,
    );
  }

  async create(directory: Directory, body: Body, query: Query): Promise<object> {
    const projection = readProjection('User', query);
    const sent = readUser(body);
    const { provider, settings, base } = directory;
    await this.users.requireRoom(provider);
    const user = await this.inTransaction(directory, async (transaction) => {
      const { manager } = transaction;
      await this.users.requireUnique(manager, provider, sent);
      const created = await this.users.insert(manager, provider, sent);
      await this.users.keepFormerName(manager, settings.attribute, undefined, created);
      return { result: created, followup: await this.applied(transaction, directory, 'created', created) };
    });
    return projection.apply(toResource(base, user));
  }

  async replace(directory: Directory, id: string, body: Body, query: Query): Promise<object> {
    const sent = readUser(body);
    return this.update(directory, id, query, () => sent);
  }

  async patch(directory: Directory, id: string, body: Body, query: Query): Promise<object> {
    const operations = readOperations('User', body);
    return this.update(directory, id, query, (before) => patchUser(before, operations));
  }

  async remove(directory: Directory, id: string): Promise<void> {
    const { provider, settings } = directory;
    await this.inTransaction(directory, async (transaction) => {
      const { manager } = transaction;
      const user = await this.users.lock(manager, provider, id);
      if (!user) throw noResource();
      await this.users.remove(manager, user);
      await this.users.keepFormerName(manager, settings.attribute, user, undefined);
      await this.members.removeUser(manager, id);
      const gone = Object.assign({}, user, { active: false });
      return {
        result: undefined,
        followup: await this.applied(transaction, directory, 'deleted', gone, user),
      };
    });
  }

  /** @param change returns the user as it is to be */
  private async update(
    directory: Directory,
    id: string,
    query: Query,
    change: (before: UserResource) => UserResource,
  ): Promise<object> {
    const projection = readProjection('User', query);
    const { provider, settings, base } = directory;
    const isFull = await this.users.isFull(provider);
    const user = await this.inTransaction(directory, async (transaction) => {
      const { manager } = transaction;
      const before = await this.users.lock(manager, provider, id);
      if (!before) throw noResource();
      // Only `true` lets a person in again, not an absent `active`.
      const resource = { active: before.active, ...change(before.resource) };
      if (isDeepStrictEqual(resource, before.resource)) {
        return { result: before, followup: this.effects.nothing };
      }
      await this.users.requireUnique(manager, provider, resource, id);
      const after = await this.users.update(manager, before, resource);
      const isRenamed = await this.users.keepFormerName(manager, settings.attribute, before, after);
      if (isRenamed && isFull) throw tooManyUsers();
      const kind = before.active === after.active ? 'changed' : after.active ? 'activated' : 'deactivated';
      return { result: after, followup: await this.applied(transaction, directory, kind, after, before) };
    });
    return projection.apply(toResource(base, user));
  }

  private async inTransaction<Result>(
    directory: Directory,
    work: (transaction: ChannelTransaction) => Promise<{ result: Result; followup: Followup }>,
  ): Promise<Result> {
    const { result, followup } = await this.history.transaction(work);
    await this.effects.finish(directory, followup);
    return result;
  }

  private async applied(
    transaction: ChannelTransaction,
    directory: Directory,
    change: Change,
    after: DirectoryUser,
    before?: DirectoryUser,
  ): Promise<Followup> {
    const { provider, origin } = directory;
    const followup = await this.effects.userChanged(transaction, directory, after, before);
    await this.audit.write(transaction.manager, [
      {
        event: 'directory_changed',
        userId: followup.userIds[0] ?? null,
        provider,
        reason: `user ${change}: ${after.id}`,
        origin,
      },
    ]);
    return followup;
  }
}

function toResource(base: string, { id, resource, createdAt, changedAt }: DirectoryUser): object {
  return {
    schemas: [USER_SCHEMA],
    id,
    ...resource,
    meta: {
      resourceType: 'User',
      created: createdAt.toISOString(),
      lastModified: changedAt.toISOString(),
      location: `${base}/Users/${id}`,
    },
  };
}
