import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DataSource, In, MoreThan, type EntityManager } from 'typeorm';
import { systemOrigin } from '../../../audit/audit-event.js';
import { ChannelHistory } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { Background } from '../../../platform/background.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { UserStore } from '../../../user/user.store.js';
import { DirectoryGroup } from '../groups/directory-group.entity.js';
import { DirectoryMembers } from '../groups/directory-member.store.js';
import { scimProviders } from '../scim.settings.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryEffects, type ChangingDirectory, type DirectoryChange } from './directory-effects.js';
import { findPersons } from './directory-persons.js';
import { DirectoryTask, type DirectoryCause } from './directory-task.entity.js';

/** Users that one transaction changes: a sign-in of one of them waits for its end. */
const MOST_USERS = 400;
const MOST_RESUMED = 100;
/** Users whose sessions are ended at a time: each needs a connection. */
const MOST_ENDED = 2;

/** A task that another instance has begun is left to it for this time. */
const ABANDONED = `now() - interval '5 seconds'`;

/**
 * Runs the transactions of changes, and then the tasks that they leave. Each task is a row, so that it goes
 * on after a crash, on any instance; done twice it changes nothing.
 */
@Injectable()
export class DirectoryTasks implements OnModuleInit {
  private readonly known: ReturnType<typeof scimProviders>;
  private readonly logger = new Logger('Scim');
  private readonly running = new Set<string>();
  private readonly slices = new Map<string, ConcurrencyLimit>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly history: ChannelHistory,
    private readonly effects: DirectoryEffects,
    private readonly signOuts: SignOutService,
    private readonly members: DirectoryMembers,
    private readonly users: UserStore,
    private readonly background: Background,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.known = scimProviders(settings);
  }

  onModuleInit(): void {
    if (this.known.size > 0) this.background.repeat('apply-directory-tasks', () => this.resume());
  }

  /** Runs a change in a transaction, and ends the sessions that it leaves before the caller answers. */
  async change<Result>(
    directory: ChangingDirectory,
    work: (change: DirectoryChange) => Promise<Result>,
  ): Promise<Result> {
    const tasks: DirectoryTask[] = [];
    const later: DirectoryChange['later'] = (kind, subject) => {
      tasks.push({
        id: randomUUID(),
        provider: directory.provider,
        kind,
        subject,
        after: null,
      } as DirectoryTask);
    };
    const result = await this.history.transaction(async (transaction) => {
      const done = await work({ ...transaction, directory, later });
      if (tasks.length > 0) await transaction.manager.insert(DirectoryTask, tasks);
      return done;
    });
    await this.begin(directory, tasks);
    return result;
  }

  /** Applies the present state of a directory user. @param deleted the user, in case it is deleted by now */
  async applyNow(directory: ChangingDirectory, id: string, deleted?: DirectoryUser): Promise<void> {
    await this.change(directory, async (change) => {
      const present = await this.effects.lock(change, [id]);
      if (present.length === 0 && deleted) present.push(Object.assign({}, deleted, { active: false }));
      await this.effects.apply(change, present, { ends: true });
    });
  }

  /**
   * Applies a change of a name also to users whose first sign-in has stored that name since the change read
   * the names. A later sign-in reads the change itself.
   * @param userIds users whom the change has reached
   */
  async applyToLate(
    directory: ChangingDirectory,
    user: DirectoryUser,
    userIds: readonly string[],
  ): Promise<void> {
    const { manager } = this.dataSource;
    const persons = await findPersons(manager, directory, [user]);
    const others = persons.flatMap((one) => (userIds.includes(one.userId) ? [] : one.userId));
    if (others.length === 0) return;
    const late = await this.users.findExisting(manager, others);
    if (late.length > 0) await this.applyNow(directory, user.id, user);
  }

  /** Takes over what an instance has left, or has failed to do: first the ends of sessions. */
  private async resume(): Promise<void> {
    const left = await this.dataSource.manager
      .createQueryBuilder(DirectoryTask, 'task')
      .where(`task.createdAt < ${ABANDONED}`)
      .andWhere({ provider: In([...this.known.keys()]) })
      .orderBy(`task.kind IN ('group', 'everyone')`)
      .addOrderBy('task.createdAt')
      .limit(MOST_RESUMED)
      .getMany();
    for (const [provider, settings] of this.known) {
      const origin = { ...systemOrigin(), actor: { type: 'directory', name: provider } } as const;
      const tasks = left.filter((task) => task.provider === provider);
      await this.begin({ provider, settings, origin }, tasks);
    }
  }

  /** Ends sessions before the caller goes on; starts tasks of many users. */
  private async begin(directory: ChangingDirectory, tasks: readonly DirectoryTask[]): Promise<void> {
    for (const task of tasks.filter((one) => !isEnd(one))) {
      this.run(directory, task).catch((error: unknown) => {
        this.logger.warn({ err: error, msg: 'a change was not applied to all users: the next try follows' });
      });
    }
    const limit = new ConcurrencyLimit(MOST_ENDED); // of this call: nobody waits for a thousand others
    const ends = tasks.filter(isEnd).map((task) => limit.run(() => this.run(directory, task)));
    const failed = (await Promise.allSettled(ends)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  private async run(directory: ChangingDirectory, task: DirectoryTask): Promise<void> {
    const { id, provider } = task;
    if (this.running.has(id)) return;
    this.running.add(id);
    try {
      if (isEnd(task)) await this.end(directory, task);
      else while (await this.sliceLimit(provider).run(() => this.applySlice(directory, id)));
    } catch (error) {
      // A task that fails lets those before it be resumed first.
      const later = { createdAt: () => 'now()' };
      await this.dataSource.manager.update(DirectoryTask, { id }, later).catch(() => undefined);
      throw error;
    } finally {
      this.running.delete(id);
    }
  }

  /** One slice of each provider at a time: each needs a connection, which users need, too. */
  private sliceLimit(provider: string): ConcurrencyLimit {
    const limit = this.slices.get(provider) ?? new ConcurrencyLimit(1);
    this.slices.set(provider, limit);
    return limit;
  }

  private async end({ origin }: ChangingDirectory, { id, kind: cause, subject }: EndTask): Promise<void> {
    const all = { userId: subject, sessionId: null, deviceId: null };
    await this.signOuts.signOut('all', all, origin, { cause });
    await this.dataSource.manager.delete(DirectoryTask, { id });
  }

  /** @returns whether there are more slices */
  private applySlice(directory: ChangingDirectory, id: string): Promise<boolean> {
    return this.change(directory, async (change) => {
      const { manager } = change;
      const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
      const task = await manager.findOne(DirectoryTask, { where: { id }, lock });
      if (!task) return false; // done, or another instance is at it
      const slice = await this.readSlice(manager, task);
      await this.effects.apply(change, await this.effects.lock(change, slice));
      const after = slice.length < MOST_USERS ? undefined : slice.at(-1);
      if (task.kind === 'group') await this.forget(manager, task.subject, slice, after === undefined);
      if (after === undefined) await manager.delete(DirectoryTask, { id });
      else await manager.update(DirectoryTask, { id }, { after, createdAt: () => 'now()' });
      return after !== undefined;
    });
  }

  private async readSlice(
    manager: EntityManager,
    { kind, subject, after, provider }: DirectoryTask,
  ): Promise<string[]> {
    if (kind === 'group') return this.members.slice(manager, subject, after, MOST_USERS);
    const rows = await manager.find(DirectoryUser, {
      select: { id: true },
      where: { provider, ...(after !== null && { id: MoreThan(after) }) },
      order: { id: 'ASC' },
      take: MOST_USERS,
    });
    return rows.map(({ id }) => id);
  }

  /** Deletes the members that were only marked, and a removed group with its last slice. */
  private async forget(
    manager: EntityManager,
    groupId: string,
    slice: readonly string[],
    isLast: boolean,
  ): Promise<void> {
    const gone = { id: groupId, removed: true };
    const isGone = await manager.existsBy(DirectoryGroup, gone);
    await this.members.forgetRemoved(manager, groupId, slice, isGone);
    if (isGone && isLast) await manager.delete(DirectoryGroup, gone);
  }
}

type EndTask = DirectoryTask & { readonly kind: DirectoryCause };

function isEnd(task: DirectoryTask): task is EndTask {
  return task.kind !== 'group' && task.kind !== 'everyone';
}
