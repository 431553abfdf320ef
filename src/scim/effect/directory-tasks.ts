import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource, MoreThan, type EntityManager } from 'typeorm';
import { systemOrigin } from '../../audit/audit-event.js';
import { Background } from '../../background.js';
import { ChannelHistory, type ChannelTransaction } from '../../channel/channel.history.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { DirectoryGroupStore } from '../groups/directory-group.store.js';
import { DirectoryMembers } from '../groups/directory-member.store.js';
import { DirectoryGroup } from '../groups/directory-group.entity.js';
import type { Directory } from '../protocol/directory.guard.js';
import { scimProviders } from '../protocol/scim-providers.js';
import { DirectoryUser } from '../users/directory-user.entity.js';
import { DirectoryNames } from './directory-name.store.js';
import { DirectoryTask } from './directory-task.entity.js';

const MOST_USERS = 1000;

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
  private readonly running = new Set<string>();

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
    this.background.repeat('apply-directory-tasks', () => this.resume());
  }

  /** Ends sessions before the caller answers; starts tasks of many users. */
  async runNow(known: Known, tasks: readonly DirectoryTask[]): Promise<void> {
    const isShort = ({ kind }: DirectoryTask): boolean => kind === 'person' || kind === 'user';
    // `resume`
    for (const task of tasks) if (!isShort(task)) void this.run(known, task).catch(() => undefined);
    for (const task of tasks) if (isShort(task)) await this.run(known, task);
  }

  /** Takes over what an instance has left, or has failed to do. */
  private async resume(): Promise<void> {
    const left = await this.manager
      .createQueryBuilder(DirectoryTask, 'task')
      .where(`task.createdAt < ${ABANDONED}`)
      .orderBy('task.createdAt')
      .limit(100)
      .getMany();
    for (const task of left) {
      const settings = this.known.get(task.provider);
      const origin = { ...systemOrigin(), actor: { type: 'directory', name: task.provider } } as const;
      if (settings) await this.run({ provider: task.provider, settings, origin }, task);
    }
  }

  private async run(known: Known, task: DirectoryTask): Promise<void> {
    if (this.running.has(task.id)) return;
    this.running.add(task.id);
    try {
      if (task.kind === 'person' || task.kind === 'user') await this.end(known, task);
      else while (await this.advance(known, task.id));
    } finally {
      this.running.delete(task.id);
    }
  }

  private async end(
    { provider, settings, origin }: Known,
    { id, kind, subject }: DirectoryTask,
  ): Promise<void> {
    const cause = kind === 'person' ? 'directory' : 'not_allowed';
    const named =
      kind === 'person' && (await this.names.usersOf(this.manager, provider, settings, [subject]));
    for (const userId of named ? (named.get(subject) ?? []) : [subject]) {
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
