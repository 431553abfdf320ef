import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, type Repository } from 'typeorm';
import type { ScimSettings } from '../../config/providers/provider-settings.js';
import { addressKey } from '../../config/urls/email-address.js';
import { CachedReading } from '../../database/limits.js';
import { applyFilter, type Column } from '../protocol/where.js';
import type { Page } from '../protocol/list-query.js';
import { notUnique, ScimError } from '../protocol/scim-error.js';
import { DirectoryRemoval } from './directory-removal.entity.js';
import { DirectoryUser } from './directory-user.entity.js';
import type { Entry, UserResource } from './user-resource.js';

/** Users of a provider, with those that were deleted. */
const MOST_USERS = 500_000;
const COUNTED_MS = 30_000;

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
    @InjectRepository(DirectoryRemoval) private readonly removals: Repository<DirectoryRemoval>,
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
      .orderBy('one.createdAt')
      .addOrderBy('one.id')
      .offset(startIndex - 1)
      .limit(count);
    return query.getManyAndCount();
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

  /** @throws ScimError beyond the limit, which is counted twice a minute */
  async requireRoom(provider: string): Promise<void> {
    let count = this.counts.get(provider);
    if (!count) {
      const read = async () =>
        (await this.users.countBy({ provider })) + (await this.removals.countBy({ provider }));
      count = new CachedReading(read, COUNTED_MS);
      this.counts.set(provider, count);
    }
    if ((await count.get()) < MOST_USERS) return;
    throw new ScimError(403, `a directory must not have more than ${MOST_USERS} users`);
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

  /** Deletes a user; sign-ins of the person are refused from then on. */
  async remove(manager: EntityManager, { id, provider }: DirectoryUser, name: string | null): Promise<void> {
    await manager.delete(DirectoryUser, { id });
    if (name !== null)
      await manager.upsert(DirectoryRemoval, { provider, name, removedAt: () => 'now()' }, [
        'provider',
        'name',
      ]);
  }

  async forgetRemoval(manager: EntityManager, provider: string, name: string): Promise<void> {
    await manager.delete(DirectoryRemoval, { provider, name });
  }
}

/** Returns the name by which a directory user is compared with users (`scim_attribute`). */
export function nameOf(
  user: Pick<DirectoryUser, 'externalId' | 'userName'>,
  attribute: ScimSettings['attribute'],
) {
  return attribute === 'externalId' ? user.externalId : user.userName;
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
