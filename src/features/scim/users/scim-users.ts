import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { addressKey } from '../../../platform/config/urls/email-address.js';
import { DirectoryRights } from '../effect/directory-claims.js';
import { DirectoryEffects, profileOf, type DirectoryChange } from '../effect/directory-effects.js';
import { DirectoryMember } from '../groups/directory-group.entity.js';
import type { Page } from '../protocol/list-query.js';
import { readOperations } from '../protocol/normalise.js';
import type { Column } from '../protocol/where.js';
import { ResourceRows, type Body, type Changed, type ResourceType } from '../resources/resource-rows.js';
import { toNameKey } from '../effect/directory-persons.js';
import { DirectoryFormerName, DirectoryUser } from './directory-user.entity.js';
import { patchUser } from './user-patch.js';
import { readUser, type Entry, type UserResource } from './user-resource.js';

/** Users of a provider, and names of deleted and renamed users. */
const MOST_USERS = 500_000;

/** JSON of the users of one page; a page may be shorter than asked for (RFC 7644 §3.4.2.4). */
const MOST_CHARACTERS = 2 * 1024 * 1024;
/** Users that one statement reads: each may have 64 KiB. */
const READ_AT_A_TIME = 50;

const COLUMNS: Readonly<Record<string, Column>> = {
  id: { kind: 'id', sql: 'one.id' },
  userName: { kind: 'text', sql: 'one.userNameKey', isKey: true },
  externalId: { kind: 'text', sql: 'one.externalId', isKey: false },
  displayName: { kind: 'text', sql: 'one.displayNameKey', isKey: true },
  active: { kind: 'boolean', sql: 'one.active' },
  emails: {
    kind: 'list',
    condition: ({ value, type, ...others }, bind) => {
      if (Object.keys(others).length > 0) return undefined;
      return `one.emailKeys @> CAST(${bind([emailKey(value ?? '', type)])} AS text[])`;
    },
  },
};

/** Returns a user as it is to be. */
type SentUser = (before: UserResource | undefined) => UserResource;

@Injectable()
export class ScimUsers implements ResourceType<DirectoryUser, SentUser> {
  readonly rows: ResourceRows<DirectoryUser>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly effects: DirectoryEffects,
    private readonly rights: DirectoryRights,
  ) {
    const { manager } = dataSource;
    this.rows = new ResourceRows(manager, {
      kind: 'User',
      entity: DirectoryUser,
      columns: COLUMNS,
      count: async (provider) =>
        (await manager.countBy(DirectoryUser, { provider })) +
        (await manager.countBy(DirectoryFormerName, { provider })),
      most: MOST_USERS,
      counted: 'users, with deleted ones and former names',
    });
  }

  read(body: Body): SentUser {
    const sent = readUser(body);
    return () => sent;
  }

  readPatch(body: Body): SentUser {
    const operations = readOperations('User', body);
    return (before) => patchUser(before!, operations);
  }

  /** Reads the first users with few characters together, and one at least. */
  async list(provider: string, page: Page): Promise<[DirectoryUser[], number]> {
    const [found, total] = await this.rows.list(provider, page, 'one.id');
    const users: DirectoryUser[] = [];
    let left = MOST_CHARACTERS;
    for (let at = 0; at < found.length && left > 0; at += READ_AT_A_TIME) {
      const slice = found.slice(at, at + READ_AT_A_TIME).map(({ id }) => id);
      const rows = await this.dataSource.manager.findBy(DirectoryUser, { id: In(slice) });
      const read = new Map(rows.map((user) => [user.id, user]));
      for (const user of slice.flatMap((id) => read.get(id) ?? [])) {
        left -= JSON.stringify(user.resource).length;
        if (left < 0 && users.length > 0) return [users, total];
        users.push(user);
      }
    }
    return [users, total];
  }

  async describe(_base: string, users: readonly DirectoryUser[]): Promise<UserResource[]> {
    return users.map(({ resource }) => resource);
  }

  async create(change: DirectoryChange, sent: SentUser): Promise<Changed<DirectoryUser>> {
    const { manager, directory } = change;
    const user = { id: randomUUID(), provider: directory.provider, ...columnsOf(sent(undefined)) };
    await this.rows.requireUnique(manager, user, user);
    const created = await this.rows.insert(manager, user as DirectoryUser);
    return this.apply(change, 'created', undefined, created);
  }

  async update(
    change: DirectoryChange,
    before: DirectoryUser,
    sent: SentUser,
    isFull: boolean,
  ): Promise<Changed<DirectoryUser>> {
    // Only `true` lets a person in again, not an absent `active`.
    const resource = { active: before.active, ...sent(before.resource) };
    if (isDeepStrictEqual(resource, before.resource)) return { row: before };
    const columns = columnsOf(resource);
    const hasOtherKeys =
      columns.userNameKey !== before.userNameKey || columns.externalId !== before.externalId;
    if (hasOtherKeys) await this.rows.requireUnique(change.manager, before, columns);
    const name = before.active === columns.active ? 'changed' : columns.active ? 'activated' : 'deactivated';
    const times = name === 'activated' ? (['activatedAt'] as const) : [];
    const after = await this.rows.update(change.manager, before, columns, times);
    return this.apply(change, name, before, after, isFull);
  }

  async remove(change: DirectoryChange, before: DirectoryUser): Promise<Changed<DirectoryUser>> {
    const { id } = before;
    await change.manager.delete(DirectoryUser, { id });
    await change.manager.delete(DirectoryMember, { userId: id });
    return this.apply(change, 'deleted', before, Object.assign({}, before, { active: false }));
  }

  /** Applies a written change to the users of the directory user. @param before undefined: a new one */
  private async apply(
    change: DirectoryChange,
    name: string,
    before: DirectoryUser | undefined,
    after: DirectoryUser,
    isFull = false,
  ): Promise<Changed<DirectoryUser>> {
    const { manager, directory } = change;
    const isRenamed = await this.keepFormerName(
      change,
      before,
      name === 'deleted' ? undefined : after,
      isFull,
    );
    const hasNewRoles = after.resource.roles !== undefined && before?.resource.roles === undefined;
    if (hasNewRoles && (await this.rights.begin(manager, directory.provider, 'roles'))) {
      change.later('everyone', directory.provider);
    }
    const hasProfile = !before || !isDeepStrictEqual(profileOf(before), profileOf(after));
    const formerName = isRenamed && before ? before[directory.settings.attribute] : null;
    const userIds = await this.effects.apply(change, [after], { ends: true, hasProfile, formerName });
    return {
      row: after,
      reason: `user ${name}: ${after.id}`,
      userIds,
      renamed: isRenamed ? after : undefined,
    };
  }

  /**
   * Keeps the name that a change has given up; the present name is no former name any more.
   * @param before undefined: a new user
   * @param after undefined: a deleted user
   * @returns whether the name is another one
   */
  private async keepFormerName(
    { manager, directory: { provider, settings } }: DirectoryChange,
    before: DirectoryUser | undefined,
    after: DirectoryUser | undefined,
    isFull: boolean,
  ): Promise<boolean> {
    const { attribute } = settings;
    const [former, name] = [before, after].map((user) => {
      const present = user?.[attribute];
      return present ? toNameKey(attribute, present) : undefined;
    });
    if (former === name) return false;
    if (name !== undefined) await manager.delete(DirectoryFormerName, { provider, name });
    if (former === undefined) return true;
    if (isFull) throw this.rows.tooMany();
    const row = { provider, name: former, directoryUserId: before!.id };
    await manager.upsert(DirectoryFormerName, row, ['provider', 'name']);
    return true;
  }
}

function columnsOf(resource: UserResource) {
  const { userName, externalId, displayName, emails = [], active = true } = resource;
  return {
    userName,
    userNameKey: userName.toLowerCase(),
    externalId: externalId ?? null,
    displayNameKey: displayName?.toLowerCase() ?? null,
    emailKeys: [...new Set(emails.flatMap(emailKeysOf))],
    active,
    resource: { ...resource, active },
  };
}

/** One for the address, one with its type, and one of the type alone. */
function emailKeysOf({ value, type }: Entry): string[] {
  return [emailKey(value), ...(type === undefined ? [] : [emailKey(value, type), emailKey('', type)])];
}

function emailKey(value: string, type = ''): string {
  return `${type.toLowerCase()}\n${addressKey(value)}`;
}
