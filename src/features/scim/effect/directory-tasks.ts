import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DataSource, In, MoreThan, type EntityManager } from 'typeorm';
import { systemOrigin } from '../../../audit/audit-event.js';
import { Background } from '../../../platform/background.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { ConcurrencyLimit } from '../../../platform/database/limits.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { DirectoryGroupStore } from '../groups/directory-group.store.js';
import { DirectoryMembers } from '../groups/directory-member.store.js';
import { DirectoryGroup } from '../groups/directory-group.entity.js';
import type { Directory } from '../protocol/directory.guard.js';
import { scimProviders } from '../protocol/scim-providers.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryNames } from './directory-name.store.js';
import { DirectoryTask } from './directory-task.entity.js';

/** Users that one transaction changes: a sign-in of one of them waits for its end. */
const MOST_USERS = 400;
const MOST_RESUMED = 100;
/** Users whose sessions are ended at a time: each needs a connection. */
const MOST_ENDED = 2;

/** A task that another instance has begun is left to it for this time. */
const ABANDONED = `now() - interval '5 seconds'`;

type Known = Pick<Directory, 'provider' | 'settings' | 'origin'>;

/**
 * Does what is left of committed requests. Each task is a row, so that it goes on after a crash, on any
 * instance; done twice it changes nothing.
 */
@Injectable()
export class DirectoryTasks implements OnModuleInit {
  /** Set by DirectoryEffects. @returns tasks to write */
  applySlice!: (
    transaction: ChannelTransaction,
    known: Known,
    ids: readonly string[],
  ) => Promise<DirectoryTask[]>;
  private readonly known: ReturnType<typeof scimProviders>;
  private readonly logger = new Logger('Scim');
  private readonly running = new Set<string>();
  private readonly slices = new Map<string, ConcurrencyLimit>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly names: DirectoryNames,
    private readonly members: DirectoryMembers,
    private readonly groups: DirectoryGroupStore,
    private readonly background: Background,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.known = scimProviders(settings);
  }

  get manager(): EntityManager {
    return this.dataSource.manager;
  }

  onModuleInit(): void {
    if (this.known.size > 0) this.background.repeat('apply-directory-tasks', () => this.resume());
  }

  /** Ends sessions before the caller answers; starts tasks of many users. */
  async runNow(known: Known, tasks: readonly DirectoryTask[]): Promise<void> {
    for (const task of tasks) if (!isShort(task)) this.start(known, task);
    const limit = new ConcurrencyLimit(MOST_ENDED); // of this call: nobody waits for a thousand others
    const ends = tasks.filter(isShort).map((task) => limit.run(() => this.run(known, task)));
    const failed = (await Promise.allSettled(ends)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  /** Takes over what an instance has left, or has failed to do: first the ends of sessions. */
  private async resume(): Promise<void> {
    const left = await this.manager
      .createQueryBuilder(DirectoryTask, 'task')
      .where(`task.createdAt < ${ABANDONED}`)
      .andWhere({ provider: In([...this.known.keys()]) })
      .orderBy(`task.kind IN ('person', 'user')`, 'DESC')
      .addOrderBy('task.createdAt')
      .limit(MOST_RESUMED)
      .getMany();
    for (const [provider, settings] of this.known) {
      const origin = { ...systemOrigin(), actor: { type: 'directory', name: provider } } as const;
      const tasks = left.filter((task) => task.provider === provider);
      await this.runNow({ provider, settings, origin }, tasks);
    }
  }

  private start(known: Known, task: DirectoryTask): void {
    this.run(known, task).catch((error: unknown) => {
      this.logger.warn({ err: error, msg: 'a change was not applied to all users: the next try follows' });
    });
  }

  private async run(known: Known, task: DirectoryTask): Promise<void> {
    if (this.running.has(task.id)) return;
    this.running.add(task.id);
    try {
      if (isShort(task)) await this.end(known, task);
      else while (await this.sliceLimit(known.provider).run(() => this.advance(known, task.id)));
    } catch (error) {
      // A task that fails lets those before it be resumed first.
      const later = { createdAt: () => 'now()' };
      await this.manager.update(DirectoryTask, { id: task.id }, later).catch(() => undefined);
      throw error;
    } finally {
      this.running.delete(task.id);
    }
  }

  /** One slice of each provider at a time: each needs a connection, which users need, too. */
  private sliceLimit(provider: string): ConcurrencyLimit {
    const limit = this.slices.get(provider) ?? new ConcurrencyLimit(1);
    this.slices.set(provider, limit);
    return limit;
  }

  private async end(
    { provider, settings, origin }: Known,
    { id, kind, subject }: DirectoryTask,
  ): Promise<void> {
    const isPerson = kind === 'person';
    const cause = isPerson ? 'directory' : 'not_allowed';
    const userIds = isPerson
      ? await this.names.personsOf(this.manager, provider, settings, subject)
      : [subject];
    for (const userId of userIds) {
      await this.signOuts.signOut('all', { userId, sessionId: null, deviceId: null }, origin, { cause });
    }
    await this.manager.delete(DirectoryTask, { id });
  }

  /** Applies one slice. @returns whether there are more */
  private async advance(known: Known, id: string): Promise<boolean> {
    const { isLast, tasks } = await this.history.transaction(async (transaction) => {
      const { manager } = transaction;
      const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
      const task = await manager.findOne(DirectoryTask, { where: { id }, lock });
      if (!task) return { isLast: true, tasks: [] }; // done, or another instance is at it
      const slice = await this.sliceOf(manager, task);
      const more = await this.applySlice(transaction, known, slice);
      if (more.length > 0) await manager.insert(DirectoryTask, more);
      const last = slice.length < MOST_USERS;
      if (task.kind === 'group') await this.forget(manager, task, slice, last);
      if (last) await manager.delete(DirectoryTask, { id });
      else
        await manager.update(
          DirectoryTask,
          { id },
          {
            after: slice.at(-1)!,
            createdAt: () => 'now()',
          },
        );
      return { isLast: last, tasks: more };
    });
    await this.runNow(known, tasks);
    return !isLast;
  }

  private async sliceOf(
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
    { subject }: DirectoryTask,
    slice: readonly string[],
    isLast: boolean,
  ): Promise<void> {
    const isGone = await manager.existsBy(DirectoryGroup, { id: subject, removed: true });
    await this.members.forgetRemoved(manager, subject, slice, isGone);
    if (isGone && isLast) await this.groups.remove(manager, subject);
  }
}

function isShort({ kind }: Pick<DirectoryTask, 'kind'>): boolean {
  return kind === 'person' || kind === 'user';
}
