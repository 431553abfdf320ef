import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { UserLifecycle } from '../../extensions.js';
import { systemOrigin } from '../../audit/audit-event.js';
import { Background } from '../../platform/background.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { forEachLimited } from '../../platform/database/last-use.js';
import { CachedReading } from '../../platform/database/limits.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { Events } from '../../platform/events.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { CheckStore } from './check.store.js';
import { ProviderQueue } from './provider-queue.js';
import { Recheck } from './recheck.js';

/** Users that wait for the next `wake`; one beyond that is woken by the next use. */
const MOST_USED = 20_000;
/** Milliseconds for which a count of the instances is used. */
const COUNT_MS = 10_000;
/** Sessions of one user that one run ends. */
const MOST_ENDING = 100;

/** Asks the providers with `recheck` about the users who are due (docs/guides/recheck.md). */
@Injectable()
@UserLifecycle()
export class Rechecks
  implements UserLifecycle, OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown
{
  private readonly queues: readonly ProviderQueue[];
  private used = new Set<string>();
  private usedBefore = new Set<string>();

  constructor(
    providers: ProviderRegistry,
    private readonly store: CheckStore,
    private readonly sessions: SessionStore,
    private readonly signOuts: SignOutService,
    private readonly events: Events,
    private readonly background: Background,
    presence: PresenceStore,
    recheck: Recheck,
  ) {
    const count = new CachedReading(() => presence.countInstances(), COUNT_MS);
    const parts = { store, recheck, instances: () => count.get() };
    this.queues = providers.list().flatMap(({ name, recheck: settings }) => {
      return settings ? new ProviderQueue(providers.get(name), settings, parts) : [];
    });
  }

  onModuleInit(): void {
    this.events.on('session.used', ({ userId }) => {
      if (this.used.size < MOST_USED) this.used.add(userId);
    });
    this.events.on('state.requested', (report) =>
      report({ recheckDelay: Math.max(0, ...this.queues.map(({ delay }) => delay)) }),
    );
  }

  sessionsEnded(manager: EntityManager, userId: string): Promise<void> {
    return this.store.removeEnded([userId], manager);
  }

  onApplicationBootstrap(): void {
    this.background.repeat('ask-providers', async () => {
      for (const queue of this.queues) await queue.run();
    });
    this.background.repeat('end-cut-sessions', () => this.endCutSessions());
    this.background.repeat('wake-checks', () => this.wake());
  }

  /** The connection pool is closed after this. */
  async beforeApplicationShutdown(): Promise<void> {
    const works = ['ask-providers', 'end-cut-sessions', 'wake-checks'] as const;
    await Promise.all(works.map((work) => this.background.stop(work)));
    await Promise.all(this.queues.map((queue) => queue.settled()));
  }

  /** Each use is written twice, a second apart: at the first time, `rest` may not have seen its token. */
  private async wake(): Promise<void> {
    const users = [...new Set([...this.used, ...this.usedBefore])];
    [this.used, this.usedBefore] = [new Set(), this.used];
    if (users.length > 0) await this.store.wake(users);
  }

  /** Ends sessions at the second that a `session_expiry` names: they may have access tokens, and sockets. */
  private async endCutSessions(): Promise<void> {
    await forEachLimited(await this.store.findEnding(), (userId) => this.endCutSessionsOf(userId));
  }

  private async endCutSessionsOf(userId: string): Promise<void> {
    const { expired, next } = await this.sessions.findExpired(userId, MOST_ENDING);
    const cause = 'provider_ended';
    for (const session of expired) {
      await this.signOuts.signOut('session', { userId, ...session }, systemOrigin('recheck'), { cause });
    }
    if (expired.length < MOST_ENDING) await this.store.setEndsAt(userId, next);
  }
}
