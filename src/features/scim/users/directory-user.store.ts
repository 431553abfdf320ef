import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type EntityManager, type Repository } from 'typeorm';
import type { ScimSettings } from '../scim.settings.js';
import { addressKey } from '../../../platform/config/urls/email-address.js';
import { CachedReading } from '../../../platform/database/limits.js';
import { applyFilter, type Column } from '../protocol/where.js';
import type { Page } from '../protocol/list-query.js';
import { notUnique, ScimError } from '../protocol/scim-error.js';
import { DirectoryFormerName } from './directory-former-name.entity.js';
import { DirectoryUser } from './directory-user.entity.js';
import type { Entry, UserResource } from './user-resource.js';

/** Users of a provider, and names of deleted and renamed users. */
const MOST_USERS = 500_000;
const COUNTED_MS = 30_000;

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

/** Rows of directory users. */
@Injectable()
export class DirectoryUserStore {
  private readonly counts = new Map<string, CachedReading<number>>();

  constructor(
    @InjectRepository(DirectoryUser) private readonly users: Repository<DirectoryUser>,
    @InjectRepository(DirectoryFormerName) private readonly formerNames: Repository<DirectoryFormerName>,
  ) {}

  async find(provider: string, id: string): Promise<DirectoryUser | undefined> {
    return (await this.users.findOneBy({ provider, id })) ?? undefined;
  }

  /** Stable order: the oldest first. */
  async list(provider: string, { filter, startIndex, count }: Page): Promise<[DirectoryUser[], number]> {
    const query = this.users.createQueryBuilder('one').where({ provider });
    if (filter) applyFilter(query, filter, 'User', COLUMNS);
    if (count === 0) return [[], await query.getCount()];
    query
      .select('one.id')
      .orderBy('one.createdAt')
      .addOrderBy('one.id')
      .offset(startIndex - 1)
      .limit(count);
    const [found, total] = await query.getManyAndCount();
    return [await this.beginningOf(found.map(({ id }) => id)), total];
  }

  /** Returns the first users with few characters together, and one at least. */
  private async beginningOf(ids: readonly string[]): Promise<DirectoryUser[]> {
    const users: DirectoryUser[] = [];
    let left = MOST_CHARACTERS;
    for (let at = 0; at < ids.length && left > 0; at += READ_AT_A_TIME) {
      const slice = ids.slice(at, at + READ_AT_A_TIME);
      const read = new Map((await this.users.findBy({ id: In(slice) })).map((user) => [user.id, user]));
      for (const user of slice.flatMap((id) => read.get(id) ?? [])) {
        left -= JSON.stringify(user.resource).length;
        if (left < 0 && users.length > 0) return users;
        users.push(user);
      }
    }
    return users;
  }

  /** Locks a user for a change, so that concurrent changes follow each other. */
  async lock(manager: EntityManager, provider: string, id: string): Promise<DirectoryUser | undefined> {
    const lock = { mode: 'for_no_key_update' } as const;
    return (await manager.findOne(DirectoryUser, { where: { provider, id }, lock })) ?? undefined;
  }

  /**
   * Checks what must be unique; the indexes decide between concurrent requests.
   * @throws ScimError `uniqueness`
   */
  async requireUnique(
    manager: EntityManager,
    provider: string,
    { userName, externalId }: UserResource,
    own?: string,
  ): Promise<void> {
    const query = manager
      .createQueryBuilder(DirectoryUser, 'one')
      .select(['one.id', 'one.userNameKey'])
      .where({ provider })
      .andWhere('(one.userNameKey = :key OR one.externalId = :externalId)', {
        key: userName.toLowerCase(),
        externalId: externalId ?? null,
      });
    if (own !== undefined) query.andWhere('one.id <> :own', { own });
    const other = await query.getOne();
    if (other) throw notUnique(other.userNameKey === userName.toLowerCase() ? 'userName' : 'externalId');
  }

  /** @throws ScimError beyond the limit */
  async requireRoom(provider: string): Promise<void> {
    if (await this.isFull(provider)) throw tooManyUsers();
  }

  /** Returns whether the directory may not grow; counts twice a minute. */
  async isFull(provider: string): Promise<boolean> {
    let count = this.counts.get(provider);
    if (!count) {
      const read = async () =>
        (await this.users.countBy({ provider })) + (await this.formerNames.countBy({ provider }));
      count = new CachedReading(read, COUNTED_MS);
      this.counts.set(provider, count);
    }
    return (await count.get()) >= MOST_USERS;
  }

  async insert(manager: EntityManager, provider: string, resource: UserResource): Promise<DirectoryUser> {
    const user = { id: randomUUID(), provider, ...columnsOf(resource) };
    const { generatedMaps } = await manager.insert(DirectoryUser, user);
    return Object.assign(new DirectoryUser(), user, generatedMaps[0]);
  }

  async update(
    manager: EntityManager,
    { id, active: wasActive }: DirectoryUser,
    resource: UserResource,
  ): Promise<DirectoryUser> {
    const columns = columnsOf(resource);
    const now = (): string => 'now()';
    const isActivated = columns.active && !wasActive;
    const times = { changedAt: now, ...(isActivated && { activatedAt: now }) };
    await manager.update(DirectoryUser, { id }, { ...columns, ...times });
    return manager.findOneByOrFail(DirectoryUser, { id });
  }

  async remove(manager: EntityManager, { id }: DirectoryUser): Promise<void> {
    await manager.delete(DirectoryUser, { id });
  }

  /**
   * Keeps the name that a change has given up; the present name is no former name any more.
   * @param before undefined: a new user
   * @param after undefined: a deleted user
   * @returns whether a name was given up
   */
  async keepFormerName(
    manager: EntityManager,
    attribute: ScimSettings['attribute'],
    before: DirectoryUser | undefined,
    after: DirectoryUser | undefined,
  ): Promise<boolean> {
    const { id, provider } = (after ?? before)!;
    const [former, name] = [before, after].map((user) => {
      const present = user && nameOf(user, attribute);
      return present ? toNameKey(attribute, present) : undefined;
    });
    if (former === name) return false;
    if (name !== undefined) await manager.delete(DirectoryFormerName, { provider, name });
    if (former === undefined) return false;
    const row = { provider, name: former, directoryUserId: id };
    await manager.upsert(DirectoryFormerName, row, ['provider', 'name']);
    return true;
  }
}

export function tooManyUsers(): ScimError {
  const what = `${MOST_USERS} users, with deleted ones and former names`;
  return new ScimError(403, `a directory must not have more than ${what}`);
}

/** Returns the name by which a directory user is compared with users (`scim_attribute`). */
export function nameOf(
  user: Pick<DirectoryUser, 'externalId' | 'userName'>,
  attribute: ScimSettings['attribute'],
) {
  return attribute === 'externalId' ? user.externalId : user.userName;
}

/** Returns a name as it is looked up. */
export function toNameKey(attribute: ScimSettings['attribute'], name: string): string {
  return attribute === 'userName' ? name.toLowerCase() : name;
}

/** Returns whether two names are of one person: user names have no case (RFC 7643 §4.1.1). */
export function isSameName(attribute: ScimSettings['attribute'], one: string, other: string): boolean {
  if (attribute === 'externalId') return one === other;
  // Both cases: the sign of kelvin is no k, but its lower case is.
  return one.toLowerCase() === other.toLowerCase() && one.toUpperCase() === other.toUpperCase();
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
