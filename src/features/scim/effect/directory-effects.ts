import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { In, type EntityManager } from 'typeorm';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { allowFacts, checkAllow } from '../../../provider/identity/allow.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import {
  MOST_CHANGED,
  UserChanges,
  type ChangedUser,
  type UserChange,
} from '../../../user/user-changes.store.js';
import { claimsOfProvider } from '../../../user/last-identity.js';
import type { DirectoryGroup } from '../groups/directory-group.entity.js';
import { DirectoryGroupStore } from '../groups/directory-group.store.js';
import { DirectoryMembers, type MemberChange } from '../groups/directory-member.store.js';
import type { Directory } from '../protocol/directory.guard.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { nameOf } from '../users/directory-user.store.js';
import { laidOver, DirectoryRights, type DirectoryClaims } from './directory-claims.js';
import { DirectoryNames, UNNAMED } from './directory-name.store.js';
import { DirectoryStates } from './directory-state.store.js';
import { DirectoryTask } from './directory-task.entity.js';
import { DirectoryTasks } from './directory-tasks.js';

/** Directory users of one transaction that changes claims. */
export const SLICE = MOST_CHANGED;

/** What follows the commit of a request. */
export interface Followup {
  readonly tasks: readonly DirectoryTask[];
  /** Users whom the request was about. */
  readonly userIds: readonly string[];
  /** Directory users; the first sign-in of each may have been in progress. */
  readonly applied: readonly string[];
}

type Known = Pick<Directory, 'provider' | 'settings' | 'origin'>;

/** Users whom a change has reached, and tasks for refused users. */
interface Applied {
  readonly userIds: readonly string[];
  readonly refused: readonly DirectoryTask[];
}

const NOBODY: Applied = { userIds: [], refused: [] };

/** Time that a sign-in and a request may take together. */
const RECENT_SECONDS = 60;

/**
 * What a directory says reaches the users: claims and profile in the transaction of the request, ends of
 * sessions right after it. A change of more users is a task.
 */
@Injectable()
export class DirectoryEffects {
  readonly nothing: Followup = { tasks: [], userIds: [], applied: [] };

  constructor(
    private readonly history: ChannelHistory,
    private readonly changes: UserChanges,
    private readonly names: DirectoryNames,
    private readonly states: DirectoryStates,
    private readonly rights: DirectoryRights,
    private readonly groups: DirectoryGroupStore,
    private readonly members: DirectoryMembers,
    private readonly providers: ProviderRegistry,
    private readonly tasks: DirectoryTasks,
  ) {
    tasks.applySlice = (transaction, known, ids) => this.applyTo(transaction, known, ids);
  }

  /** @param before absent: a new user */
  async userChanged(
    transaction: ChannelTransaction,
    known: Known,
    after: DirectoryUser,
    before?: DirectoryUser,
  ): Promise<Followup> {
    const { manager } = transaction;
    const { provider } = known;
    const tasks: DirectoryTask[] = [];
    if (!after.active) tasks.push(taskOf(provider, 'person', after.id));
    if ((after.resource.roles ?? []).length > 0 && (await this.rights.begin(manager, provider, 'roles'))) {
      tasks.push(taskOf(provider, 'everyone', provider));
    }
    const former = before ? await this.applyToFormer(transaction, known, after, before) : NOBODY;
    const hasOtherProfile = !before || JSON.stringify(profileOf(before)) !== JSON.stringify(profileOf(after));
    const state = { isLocked: true, hasOtherProfile };
    const { userIds, refused } = await this.apply(transaction, known, [after], state);
    tasks.push(...refused, ...former.refused);
    return this.written(manager, tasks, [...userIds, ...former.userIds], [after.id]);
  }

  /** @param isForAll all members are concerned, not only the changed ones */
  async groupChanged(
    transaction: ChannelTransaction,
    known: Known,
    group: DirectoryGroup,
    { added, removed }: MemberChange,
    isForAll: boolean,
  ): Promise<Followup> {
    const { manager } = transaction;
    const { provider } = known;
    const tasks: DirectoryTask[] = [];
    if (await this.rights.begin(manager, provider, 'groups')) {
      tasks.push(taskOf(provider, 'everyone', provider));
    }
    const isLarge = added.length + removed.length > SLICE || (isForAll && group.memberCount > SLICE);
    if (isLarge) return this.written(manager, [...tasks, taskOf(provider, 'group', group.id)], [], []);
    const all = isForAll ? await this.members.present(manager, group.id) : new Set<string>();
    if (group.removed) {
      await this.members.forgetRemoved(manager, group.id, [...all], true);
      await this.groups.remove(manager, group.id);
    }
    const concerned = [...new Set([...all, ...added, ...removed])];
    const refused = await this.applyTo(transaction, known, concerned);
    return this.written(manager, [...tasks, ...refused], [], concerned);
  }

  /**
   * Does what is left after the commit: ends sessions, and applies the change to users with a first sign-in
   * since. Larger tasks continue without the caller.
   */
  async finish(known: Known, { tasks, applied }: Followup): Promise<void> {
    await this.tasks.runNow(known, tasks);
    if (applied.length === 0) return;
    const { provider, settings } = known;
    const recent = await this.names.recentOf(provider, settings, applied, RECENT_SECONDS);
    if (recent.length > 0) await this.applyNow(known, recent);
  }

  /** Applies what the directory says now. @returns tasks for users who may not stay, which are written */
  async applyTo(
    transaction: ChannelTransaction,
    known: Known,
    ids: readonly string[],
  ): Promise<DirectoryTask[]> {
    if (ids.length === 0) return [];
    const users = await transaction.manager.findBy(DirectoryUser, { id: In(ids) });
    const state = { isLocked: false, hasOtherProfile: false };
    return [...(await this.apply(transaction, known, users, state)).refused];
  }

  /** Applies the state of directory users in a transaction of its own. */
  async applyNow(known: Known, ids: readonly string[]): Promise<void> {
    const tasks = await this.history.transaction(async (transaction) => {
      const refused = await this.applyTo(transaction, known, ids);
      return (await this.written(transaction.manager, refused, [], [])).tasks;
    });
    await this.tasks.runNow(known, tasks);
  }

  /**
   * Applies a change to users who had the name of a directory user, and have it no more: its end is theirs,
   * its rights are not.
   */
  private async applyToFormer(
    transaction: ChannelTransaction,
    known: Known,
    after: DirectoryUser,
    before: DirectoryUser,
  ): Promise<Applied> {
    const { manager } = transaction;
    const { provider, settings, origin } = known;
    const name = nameOf(after, settings.attribute) ?? UNNAMED;
    const former = nameOf(before, settings.attribute) ?? UNNAMED;
    const names = [name, former].filter((one) => one !== UNNAMED);
    const byName = await this.names.usersOf(manager, provider, settings, names);
    const present = new Set(byName.get(name));
    const isFormer = (userId: string): boolean => !present.has(userId);
    const renamed = new Set(byName.get(former)?.filter(isFormer));
    const linked = (await this.names.linkedTo(manager, after.id)).filter(isFormer);
    const changes = new Map<string, UserChange>();
    for (const userId of new Set([...renamed, ...linked])) {
      changes.set(userId, after.active && renamed.has(userId) ? { claims: withoutRights } : {});
    }
    const users = await this.changes.apply(
      transaction,
      [...changes.keys()],
      () => changes,
      origin,
      'directory',
    );
    const userIds = users.map(({ userId }) => userId);
    if (after.active) await this.states.forget(manager, userIds);
    else
      await this.states.write(
        manager,
        userIds.map((userId) => stateOf(userId, after)),
      );
    await this.names.link(
      manager,
      users.map(({ userId }) => ({ userId, directoryUserId: before.id })),
    );
    const lost = after.active ? users.filter(({ userId }) => renamed.has(userId)) : [];
    const refused = this.refused(provider, lost, new Map());
    return { userIds, refused };
  }

  private async apply(
    transaction: ChannelTransaction,
    known: Known,
    users: readonly DirectoryUser[],
    { isLocked, hasOtherProfile }: { readonly isLocked: boolean; readonly hasOtherProfile: boolean },
  ): Promise<Applied> {
    const { manager } = transaction;
    const { provider, settings, origin } = known;
    const ids = users.map(({ id }) => id);
    const names = users.flatMap((user) => nameOf(user, settings.attribute) ?? []);
    const byName = await this.names.usersOf(manager, provider, settings, names);
    const rights = new Map<string, DirectoryClaims>();
    const owners = new Map<string, DirectoryUser>();
    // Once its users are locked: two requests may change groups of one user at the same time.
    const read = async (): Promise<ReadonlyMap<string, UserChange>> => {
      const changes = new Map<string, UserChange>();
      const current = isLocked ? users : await manager.findBy(DirectoryUser, { id: In(ids) });
      const found = await this.rights.of(manager, provider, current);
      for (const user of current) {
        const { whole = {}, fitting: fits = {} } = found.get(user.id) ?? {};
        for (const userId of byName.get(nameOf(user, settings.attribute) ?? '') ?? []) {
          rights.set(userId, whole);
          owners.set(userId, user);
          changes.set(userId, {
            claims: (present) => laidOver(present, fits),
            profile: hasOtherProfile ? profileOf(user) : undefined,
          });
        }
      }
      return changes;
    };
    const userIds = [...byName.values()].flat();
    if (userIds.length === 0) return NOBODY;
    const changed = await this.changes.apply(transaction, userIds, read, origin, 'directory');
    await this.states.write(
      manager,
      changed.map(({ userId }) => stateOf(userId, owners.get(userId)!)),
    );
    await this.names.link(
      manager,
      changed.map(({ userId }) => ({ userId, directoryUserId: owners.get(userId)!.id })),
    );
    const active = changed.filter(({ userId }) => owners.get(userId)!.active);
    const refused = this.refused(provider, active, rights);
    return { userIds: changed.map(({ userId }) => userId), refused };
  }

  /**
   * Returns tasks that end the sessions of users whom `allow` does not cover any more.
   * @param rights of the users in the directory, also without a place in a token
   */
  private refused(
    provider: string,
    users: readonly ChangedUser[],
    rights: ReadonlyMap<string, DirectoryClaims>,
  ): DirectoryTask[] {
    const { settings } = this.providers.get(provider);
    const { allow } = settings;
    if (!allow) return [];
    return users.flatMap((user) => {
      const { userId, providerUserId, identity, lastSeenAt } = user;
      if (lastSeenAt === null) return []; // there was no sign-in yet
      const { email = null, isEmailVerified = false, hostedDomain } = identity ?? {};
      const claims = laidOver(identity?.claims ?? claimsOfProvider(user), rights.get(userId) ?? NO_RIGHTS);
      const proof = { isEmailVerified, hostedDomain, claims };
      const facts = allowFacts({ providerUserId, email, proof }, settings);
      const verdict = checkAllow(allow, { ...facts, isInDirectory: rights.has(userId) });
      return verdict.isAllowed ? [] : [taskOf(provider, 'user', userId)];
    });
  }

  private async written(
    manager: EntityManager,
    tasks: readonly DirectoryTask[],
    userIds: readonly string[],
    applied: readonly string[],
  ): Promise<Followup> {
    if (tasks.length > 0) await manager.insert(DirectoryTask, tasks as DirectoryTask[]);
    return { tasks, userIds, applied };
  }
}

function taskOf(provider: string, kind: DirectoryTask['kind'], subject: string): DirectoryTask {
  return { id: randomUUID(), provider, kind, subject, after: null } as DirectoryTask;
}

function stateOf(userId: string, { active, changedAt }: DirectoryUser) {
  return { userId, active, changedAt };
}

/** Of a person whom the directory does not know any more: fewer rights until the next sign-in. */
function withoutRights({ groups: _groups, roles: _roles, ...others }: Readonly<Record<string, unknown>>) {
  return others;
}

const NO_RIGHTS: DirectoryClaims = { groups: [], roles: [] };

const LONGEST = 255;

/** The profile as a sign-in would set it. */
function profileOf({ resource }: DirectoryUser): NonNullable<UserChange['profile']> {
  const { displayName, name, emails = [], userName } = resource;
  const parts = [name?.['givenName'], name?.['familyName']].filter((part) => part !== undefined).join(' ');
  const username = displayName ?? name?.['formatted'] ?? (parts || userName);
  const email =
    emails.find(({ primary }) => primary) ?? emails.find(({ type }) => type === 'work') ?? emails[0];
  return { username: fitting(username), email: fitting(email?.value) };
}

function fitting(text: string | undefined): string | null {
  return text !== undefined && Array.from(text).length <= LONGEST ? text : null;
}
